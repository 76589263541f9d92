// SPDX-License-Identifier: Apache-2.0
// The HTML report in a real browser without a network: it opens without an error, shows its charts,
// filters, sorts, follows deep links and fits a phone.
//   node page_test.mjs NODE_MODULES REPORT.html PAGE_OF_10000_CASES.html
// Exits with 77 (CTest: skipped) and says why when there is no Chromium. GDR2_CHROMIUM names one.
import { existsSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [modules, report, large] = process.argv.slice(2);
const chromium = [process.env.GDR2_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => path && existsSync(path));
if (!chromium) {
  console.log("SKIPPED: no Chromium is installed");
  process.exit(77);
}
const playwright = createRequire(resolve(modules, "package.json"))("playwright-core");
const browser = await playwright.chromium.launch({ executablePath: chromium, args: ["--no-sandbox"] });

const faults = [];
const expect = (what, holds) => holds || faults.push(what);

async function open(file, { width = 1280, colorScheme = "light", hash = "" } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, offline: true });
  const page = await context.newPage();
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && faults.push(`console: ${m.text()}`));
  page.on("pageerror", (e) => faults.push(`error: ${e.message}`));
  page.on("request", (r) => r.url().startsWith("file:") || r.url().startsWith("data:") || faults.push(`asks for ${r.url()}`));
  await page.goto(`file://${resolve(file)}${hash}`);
  await page.waitForSelector("html[data-ready]");
  return page;
}

const rows = (page) => page.locator("#cases tbody tr").count();

async function scrollThrough(page) {
  for (let y = 0; y < (await page.evaluate(() => document.body.scrollHeight)); y += 600) {
    await page.evaluate((top) => scrollTo(0, top), y);
    await page.waitForTimeout(30);
  }
}

async function checkView(options) {
  const page = await open(report, options);
  await scrollThrough(page);
  const name = `${options.width} ${options.colorScheme}`;
  for (const chart of ["#errors .chart svg", "#difficulty .chart svg", "#errors .map svg", "#times .chart svg", "#power .chart svg", "#calibration table"])
    expect(`${name}: no chart ${chart}`, (await page.locator(chart).count()) > 0);
  expect(`${name}: wider than the window`, (await page.evaluate(() => document.documentElement.scrollWidth)) <= options.width);
  await page.context().close();
}

async function checkFilters() {
  const page = await open(report);
  const all = await rows(page);
  await page.selectOption("#choose-dtype", "fp32");
  const some = await rows(page);
  expect("the dtype filter leaves nothing or all", some > 0 && some < all);
  expect("the filter is not in the address", page.url().includes("dtype=fp32"));
  await page.fill("#choose-q", "recipe=slow");
  await page.waitForTimeout(400);
  expect("the text filter changes nothing", (await rows(page)) < some);
  await page.click(".reset");
  expect("reset does not bring the rows back", (await rows(page)) === all);

  const z = () => page.locator("#accuracy tbody tr:first-child td:nth-child(6)").innerText();
  await page.click('#accuracy thead button:text-is("max z")');
  const largest = Number(await z());
  await page.click('#accuracy thead button:text-is("max z")');
  expect("sorting by max z does not sort", Number(await z()) < largest);

  await page.locator("#cases tbody button.line").first().focus();
  await page.keyboard.press("Enter");
  expect("a case does not open by keyboard", (await page.locator("#cases .expansion .command").count()) === 1);
  await page.context().close();
}

/** All that can be clicked is reached with Tab, in the order of the page, and shows that it is. */
async function checkKeyboard() {
  const page = await open(report);
  const controls = await page.locator("a[href]:visible, button:visible, select:visible, input:visible, summary:visible, [tabindex='0']:visible").count();
  const seen = new Set();
  for (let i = 0; i < controls + 20; ++i) {
    await page.keyboard.press("Tab");
    const focus = await page.evaluate(() => {
      const element = document.activeElement;
      if (element === document.body) return null;
      element.dataset.seen ??= String(document.querySelectorAll("[data-seen]").length);
      const style = getComputedStyle(element);
      return { id: element.dataset.seen, name: element.outerHTML.slice(0, 80), outline: style.outlineStyle !== "none" || element.matches("select, input") };
    });
    if (!focus) break;
    expect(`no focus ring on ${focus.name}`, focus.outline);
    seen.add(focus.id);
  }
  expect(`Tab reaches ${seen.size} of ${controls} controls`, seen.size >= controls);
  await page.context().close();
}

async function checkLinks() {
  const filtered = await open(report, { hash: "#accuracy?dtype=bf16&tensor=dk" });
  expect("a deep link does not filter", (await filtered.locator("#choose-dtype").inputValue()) === "bf16");
  const dtypes = await filtered.locator("#accuracy tbody td:nth-child(2)").allInnerTexts();
  expect("a deep link shows other rows", dtypes.length > 0 && dtypes.every((dtype) => dtype === "bf16"));
  await filtered.context().close();
  const one = await open(report, { hash: "#case-1" });
  expect("a link to a case does not open it", (await one.locator("#case-1 .command").count()) === 1);
  await one.context().close();
}

/**
 * 10 000 cases: less than 10 MB, and from navigation to charts less than 2 s in the best of three tries. What counts is
 * the processor's time of the page's process, all of its threads: the clock's is said too, but a machine that does other
 * work beside has it grow without bound.
 */
async function checkLarge() {
  expect(`${large} weighs ${statSync(large).size} bytes`, statSync(large).size < 10e6);
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, offline: true });
  const tries = [];
  for (let i = 0; i < 3; ++i) {
    const page = await context.newPage();
    const devtools = await context.newCDPSession(page);
    await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
    await page.goto(`file://${resolve(large)}#errors`);
    await page.waitForSelector("#errors .chart svg");
    const clock = await page.evaluate(() => performance.now() / 1000);
    expect("no failure is shown", (await page.locator("#failures .card").count()) > 0);
    const { metrics } = await devtools.send("Performance.getMetrics");
    tries.push({ clock, processor: metrics.find((m) => m.name === "ProcessTime").value });
    await page.close();
  }
  const best = (figure) => Math.min(...tries.map((t) => t[figure])).toFixed(2);
  console.log(`10 000 cases: ${(statSync(large).size / 1e6).toFixed(1)} MB, charts after ${best("clock")} s by the clock, ${best("processor")} s of the processor`);
  expect(`takes ${best("processor")} s of the processor`, best("processor") < 2);
  await context.close();
}

for (const width of [1280, 390]) for (const colorScheme of ["light", "dark"]) await checkView({ width, colorScheme });
await checkFilters();
await checkLinks();
await checkLarge();
await checkKeyboard();
await browser.close();
console.log(faults.join("\n") || "the page opens, draws, filters, sorts and links");
process.exit(faults.length ? 1 : 0);
