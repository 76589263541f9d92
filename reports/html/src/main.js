// SPDX-License-Identifier: Apache-2.0
// The page: a bar with navigation and filters, and the sections below it, drawn anew when a filter
// changes.
import * as data from "./data.js";
import { h } from "./dom.js";
import * as sections from "./sections.js";
import { choose, chosen, onChange, section } from "./state.js";
import * as studies from "./studies.js";

const parts = [
  { id: "overview", title: "Overview", draw: sections.overview, fixed: true },
  { id: "failures", title: "Not passed", draw: sections.failures },
  { id: "accuracy", title: "Accuracy", draw: sections.accuracy },
  { id: "legs", title: "Legs", draw: sections.legs },
  { id: "errors", title: "Errors", draw: sections.errors },
  { id: "difficulty", title: "Difficulty", draw: sections.hardness },
  { id: "features", title: "Features", draw: sections.features, fixed: true },
  { id: "times", title: "Times", draw: studies.times, fixed: true },
  { id: "power", title: "Power", draw: studies.power, fixed: true },
  { id: "calibration", title: "Calibration", draw: studies.calibration, fixed: true },
  { id: "cases", title: "Cases", draw: sections.allCases },
  { id: "environment", title: "Environment", draw: sections.environment, fixed: true },
];

function select(key, label, values, name = (value) => value) {
  const control = h("select", { id: `choose-${key}`, onchange: (e) => choose({ [key]: e.target.value }) },
    h("option", { value: "" }, `all ${label}s`), values.map((v) => h("option", { value: v }, name(v))));
  control.refresh = () => (control.value = chosen[key]);
  return h("label", { class: "choice" }, h("span", { class: "hidden" }, label), control);
}

function themeButton() {
  const themes = ["auto", "light", "dark"];
  let theme = "auto";
  try { theme = localStorage.getItem("gdr2-theme") ?? "auto"; } catch { /* a page from a file may have no storage */ }
  const button = h("button", { type: "button", class: "theme", title: "Colours" });
  const apply = () => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = { auto: "◐ auto", light: "☀ light", dark: "☾ dark" }[theme];
    try { localStorage.setItem("gdr2-theme", theme); } catch { /* as above */ }
  };
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    apply();
  });
  apply();
  return button;
}

function bar() {
  let timer;
  const search = h("input", { type: "search", id: "choose-q", placeholder: "filter cases: recipe=slow T=65 ...", "aria-label": "Filter cases by their text",
    oninput: (e) => { clearTimeout(timer); timer = setTimeout(() => choose({ q: e.target.value.trim() }), 150); } });
  search.refresh = () => { if (document.activeElement !== search) search.value = chosen.q; };
  const states = [...(data.cases.some((c) => c.bad) ? ["not passed"] : []), ...data.states];
  const filters = h("form", { class: "filters", role: "search", onsubmit: (e) => e.preventDefault() },
    select("kernel", "kernel", data.kernels, data.kernelName), select("dtype", "dtype", data.dtypes), select("tensor", "tensor", data.tensors), select("state", "state", states), search,
    h("button", { type: "button", class: "reset", onclick: () => { search.value = ""; choose({ kernel: "", dtype: "", tensor: "", state: "", q: "" }); } }, "reset"));
  const nav = h("nav", { "aria-label": "Sections" }, parts.filter((p) => p.element).map((p) =>
    h("a", { href: `#${p.id}`, onclick: (e) => { e.preventDefault(); choose({}, p.id); p.element.scrollIntoView(); } }, p.title)));
  document.getElementById("bar").append(h("div", { class: "top" }, h("a", { class: "brand", href: "#overview" }, "gdr2"), nav, themeButton()), filters);
  return () => filters.querySelectorAll("select, input").forEach((control) => control.refresh());
}

function draw(part) {
  const content = part.draw();
  if (!content) return false;
  part.element ??= h("section", { id: part.id });
  part.element.replaceChildren(...content.flat(Infinity).filter((x) => x !== null && x !== undefined));
  return true;
}

function show() {
  const target = document.getElementById(section);
  if (section && target) target.scrollIntoView();
}

const main = document.getElementById("main");
main.replaceChildren();
for (const part of parts) if (draw(part)) main.append(part.element);
document.title = `gdr2 ${data.exitCode === 0 ? "passed" : "not passed"}: ${data.kernels.map(data.kernelName).join(", ")}`;
const refresh = bar();
refresh();
let drawnCase = section.startsWith("case-") ? section : "";
onChange(() => {
  refresh();
  for (const part of parts) if (part.element && !part.fixed) draw(part);
  if (section.startsWith("case-") && section !== drawnCase) show();
  drawnCase = section.startsWith("case-") ? section : "";
});
show();
document.documentElement.dataset.ready = "yes";
