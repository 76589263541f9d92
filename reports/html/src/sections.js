// SPDX-License-Identifier: Apache-2.0
// The sections of the page, in its order. Each is a function that gives its element anew, and none when
// there is nothing to show.
import { caseBody, maps } from "./case.js";
import { difficulty, growth, histogram } from "./charts.js";
import * as data from "./data.js";
import { badge, command, count, fixed, h, lazy, named, several, short, sortedTable } from "./dom.js";
import { choose, chosen, matchesCase, matchesGroup } from "./state.js";

const share = (n, of) => (of ? `${((100 * n) / of).toFixed(n === of ? 0 : 1)} %` : "");

function tile(label, value, note, kind = "") {
  return h("div", { class: `tile ${kind}` }, h("div", { class: "label" }, label), h("div", { class: "value" }, value), h("div", { class: "quiet" }, note));
}

export function overview() {
  const { run, cases, accuracy } = data;
  const by = (state) => cases.filter((c) => c.state === state).length;
  const bad = cases.filter((c) => c.bad).length;
  const waived = cases.filter((c) => c.waiver).length;
  const worst = cases.filter((c) => c.state === "PASSED").reduce((a, c) => (a && !(c.max_z > a.max_z) ? a : c), null);
  const elements = accuracy.reduce((sum, row) => sum + row.elements, 0);
  const env = run.environment;
  return [
    h("h1", {}, "Numerical verification"),
    h("p", { class: "lead" },
      h("span", { class: `verdict ${data.exitCode === 0 ? "passed" : "failed"}` }, data.exitCode === 0 ? "passed" : data.exitCode === 3 ? "nothing ran" : "not passed"),
      ` ${data.kernels.map(data.kernelName).join(", ") || "no kernel"} · ${env.device ?? env.cpu ?? "unknown device"} · ${run.started.replace("T", " ").replace("Z", " UTC")}`),
    run.complete ? null : h("p", { class: "notice" }, `Interrupted: ${count(cases.length)} of ${count(run.planned)} cases done.`),
    h("div", { class: "tiles" },
      tile("cases", count(cases.length), `${several(data.kernels.length, "kernel")}, ${several(data.dtypes.length, "dtype")}`),
      tile("passed", count(by("PASSED")), share(by("PASSED"), cases.length), "good"),
      tile("not passed", count(bad), bad ? share(bad, cases.length) : "none", bad ? "bad" : ""),
      tile("skipped", count(by("SKIPPED")), waived ? `${waived} waived` : "with a reason each"),
      tile("elements judged", count(elements), "one by one"),
      worst ? tile("largest z that passed", fixed(worst.max_z), `${worst.worst.name}, ${worst.dtype}, ${worst.recipe}`) : null,
      tile("time", `${fixed(run.seconds, 1)} s`, `${env.cores ?? "?"} cores`)),
  ];
}

export function failures() {
  const list = data.cases.filter((c) => (c.bad || c.waiver) && matchesCase(c));
  if (!data.cases.some((c) => c.bad || c.waiver)) return null;
  const shown = list.slice(0, 20);
  return [
    h("h2", {}, "What did not pass"),
    list.length ? null : h("p", { class: "quiet" }, "None among what is chosen above."),
    shown.map((c, i) =>
      h("details", { class: "card", id: `failure-${c.index}`, open: i === 0 },
        h("summary", {}, badge(c.state), c.waiver ? " waived" : "", h("span", { class: "name", title: c.kernel }, ` ${data.kernelName(c.kernel)} · `, h("code", {}, c.line)),
          h("span", { class: "quiet" }, c.reason)),
        caseBody(c))),
    list.length > shown.length ? h("p", { class: "quiet" }, `${count(list.length - shown.length)} more in the table of cases below.`) : null,
  ];
}

export function accuracy() {
  const rows = data.accuracy.filter(matchesGroup);
  if (!data.accuracy.length) return null;
  const device = data.run.environment.device ?? "CPU";
  const z = (row) => (typeof row.max_z === "number" ? row.max_z : NaN);
  return [
    h("h2", {}, "Accuracy"),
    h("p", { class: "quiet" },
      `Of every kernel on ${device}, sources ${data.run.git_sha.slice(0, 10)}: the largest error of any case. z is the error in standard deviations of what the `,
      "kernel's contract explains; ulps are those of the stored dtype at the reference or its row's rms.",
      data.tensors.some((t) => t.endsWith("*")) ? " * judged from the kernel's own chunk states." : ""),
    sortedTable({
      caption: `${rows.length} groups of kernel, dtype and tensor`,
      rows,
      sort: chosen.sort ? { column: chosen.sort.replace(/^-/, ""), down: chosen.sort.startsWith("-") } : undefined,
      onsort: ({ column, down }) => choose({ sort: (down ? "-" : "") + column }, "accuracy"),
      columns: [
        { name: "kernel", value: (r) => r.kernel, cell: (r) => named(data.kernelName(r.kernel), r.kernel) },
        { name: "dtype", value: (r) => r.dtype },
        { name: "tensor", value: (r) => r.tensor, cell: (r) => h("button", { type: "button", class: "link", onclick: () => choose({ kernel: r.kernel, dtype: r.dtype, tensor: r.tensor }, "errors") }, r.tensor) },
        { name: "cases", number: true, value: (r) => r.cases },
        { name: "bad", number: true, value: (r) => r.bad, cell: (r) => h("span", { class: r.bad ? "bad-text" : "" }, String(r.bad)) },
        { name: "max z", number: true, value: z, cell: (r) => h("span", { class: "meter-cell" }, h("span", { class: "meter" }, h("span", { style: `width:${Math.min(100, z(r) * 6.25)}%` })), h("span", { class: "beside" }, fixed(z(r)))) },
        { name: "rms z", number: true, title: "over all elements of all cases", value: (r) => r.rms_z, text: (r) => fixed(r.rms_z) },
        { name: "rel norm", number: true, value: (r) => r.rel_norm, text: (r) => short(r.rel_norm) },
        { name: "max ulp", number: true, value: (r) => r.max_ulp, text: (r) => short(r.max_ulp) },
        { name: "worst case", value: (r) => r.worst_case, cell: (r) => h("a", { href: `#case-${r.worst_case}` }, data.caseByIndex.get(r.worst_case)?.recipe ?? "") },
      ],
    }),
  ];
}

/** How close each leg of the verdict came to what it allows. */
export function legs() {
  const rows = data.legs.filter((r) => (!chosen.kernel || r.kernel === chosen.kernel) && (!chosen.dtype || r.dtype === chosen.dtype));
  if (!data.legs.length) return null;
  const part = (r) => (r.allowed > 0 ? r.value / r.allowed : 0);
  return [
    h("h2", {}, "Legs of the verdict"),
    h("p", { class: "quiet" }, "The largest figure of each leg over all cases, beside the most that it may be."),
    sortedTable({
      caption: `${rows.length} kernels, dtypes and legs`, rows, page: 40, sort: { column: "part", down: true },
      columns: [
        { name: "kernel", value: (r) => r.kernel, cell: (r) => named(data.kernelName(r.kernel), r.kernel) },
        { name: "dtype", value: (r) => r.dtype },
        { name: "leg", value: (r) => r.leg },
        { name: "largest", number: true, value: (r) => r.value, text: (r) => short(r.value) },
        { name: "allowed", number: true, value: (r) => r.allowed, text: (r) => short(r.allowed) },
        { name: "part", number: true, value: part, cell: (r) => h("span", { class: "meter-cell" }, h("span", { class: "meter" }, h("span", { style: `width:${Math.min(100, 100 * part(r))}%` })), h("span", { class: "beside" }, part(r) < 10 ? `${(100 * part(r)).toFixed(0)} %` : `${short(part(r))} times`)) },
        { name: "of", class: "wide", value: (r) => r.what, cell: (r) => h("a", { href: `#case-${r.worst_case}` }, r.what) },
      ],
    }),
  ];
}

/** One kernel and dtype at a time: more would be a wall of charts. */
function shownGroup() {
  const first = data.accuracy.filter(matchesGroup);
  const pick = first.find((r) => r.bad) ?? first.find((r) => r.dtype === "bf16") ?? first[0];
  return pick && { kernel: pick.kernel, dtype: pick.dtype };
}

export function errors() {
  const group = shownGroup();
  if (!data.accuracy.length) return null;
  if (!group) return [h("h2", {}, "Where the error sits"), h("p", { class: "quiet" }, "Nothing is left of what is chosen above.")];
  const inGroup = (r) => r.kernel === group.kernel && r.dtype === group.dtype && (!chosen.tensor || r.tensor === chosen.tensor);
  const rows = data.accuracy.filter(inGroup);
  const figure = chosen.figure || "rms_z";
  const worst = rows.map((row) => {
    const tensor = (data.details.get(row.worst_case)?.tensors ?? []).find((t) => t.name === row.tensor && t.maps);
    return tensor && { row, tensor, c: data.caseByIndex.get(row.worst_case) };
  }).filter(Boolean);
  // Results and gradients are what a kernel is for; what it exports on the way would be a wall of charts.
  const isResult = (tensor) => /^(o|ht|d(q|k|v|g|b|w|h0))$/.test(tensor) || tensor === chosen.tensor;
  const split = (list, name, draw) => {
    const [results, others] = [list.filter((x) => isResult(name(x))), list.filter((x) => !isResult(name(x)))];
    return [draw(results), others.length && results.length
      ? h("details", { class: "more-charts" }, h("summary", {}, `${others.length} more: of exported stages and of chunks judged by themselves`), draw(others))
      : draw(others)];
  };
  const grid = (list) => h("div", { class: "grid" }, list);
  const legend = (text) => h("p", { class: "quiet legend" }, text);
  return [
    h("h2", {}, "Where the error sits"),
    h("p", { class: "lead" }, h("strong", {}, `${data.kernelName(group.kernel)}, ${group.dtype}`), h("span", { class: "quiet" }, " Choose another kernel, dtype or tensor above.")),
    h("h3", {}, "How large"),
    legend(["Share of elements by z, all cases. ", h("span", { class: "swatch line" }), " what the contract explains ", h("span", { class: "swatch dashed" }), " the same with rounding to nearest throughout"]),
    split(rows.filter((r) => r.histogram.length), (r) => r.tensor, (list) => grid(list.map((r) =>
      h("figure", {}, h("figcaption", {}, r.tensor), lazy({ class: "chart" }, (width) => histogram(r.histogram, width)))))),
    h("h3", {}, "How it grows along the tokens"),
    legend(["Relative error by token of its sequence. ", h("span", { class: "swatch accent" }), " largest of all cases ", h("span", { class: "swatch grey" }), " median"]),
    split(data.growth.filter(inGroup), (r) => r.tensor, (list) => grid(list.map((r) =>
      h("figure", {}, h("figcaption", {}, r.tensor), lazy({ class: "chart short" }, (width) => growth(r, "rel", width)))))),
    worst.length ? h("h3", {}, "In which tokens, heads, rows and channels") : null,
    worst.length ? h("p", { class: "quiet legend" }, "The case with the largest z of each tensor. Colour: ",
      ["rms_z", "max_z"].map((name) => h("button", { type: "button", class: "toggle", "aria-pressed": String(figure === name), onclick: () => choose({ figure: name }, "errors") }, name === "rms_z" ? "rms z" : "max z"))) : null,
    split(worst, ({ tensor }) => tensor.name, (list) => list.map(({ tensor, c }) => h("div", { class: "worst-case" },
      h("p", { class: "quiet" }, h("a", { href: `#case-${c.index}` }, c.line || "(default case)")), maps(tensor, figure)))),
  ];
}

export function hardness() {
  const all = data.cases.filter((c) => matchesCase(c) && c.tensors.length);
  if (!data.cases.some((c) => c.tensors.length)) return null;
  // Of very many cases those with the largest errors: others lie beneath them.
  const most = 1500;
  const rows = all.length > most ? [...all].sort((a, b) => b.max_z - a.max_z).slice(0, most) : all;
  const pick = (c) => (location.hash = `#case-${c.index}`);
  const chart = (figure, label) => h("figure", {}, lazy({ class: "chart tall" }, (width) => difficulty(rows, figure, label, width, pick)));
  return [
    h("h2", {}, "Error against difficulty"),
    h("p", { class: "quiet" }, "Each point is a case with its largest z; a click opens it.", all.length > most ? ` Shown are the ${count(most)} with the largest of ${count(all.length)}.` : ""),
    h("div", { class: "pair" },
      chart("decay_span", "largest decay of a channel within a chunk, nats"),
      chart("condition", "largest condition number of I + T")),
  ];
}

export function features() {
  const kernels = data.kernels;
  if (!kernels.length) return null;
  const cell = (tally) => {
    if (!tally) return h("td", { class: "never" }, "never tried");
    const [passed, failed, skipped, reason] = tally;
    if (failed) return h("td", { class: "bad-cell" }, `${failed} not passed`, passed ? `, ${passed} passed` : "");
    if (passed) return h("td", { class: "good-cell" }, `${passed} passed`, skipped ? h("span", { class: "quiet" }, `, ${skipped} skipped`) : "");
    return h("td", { class: "skip-cell" }, h("details", {}, h("summary", {}, `${skipped} skipped`), reason));
  };
  let group = "";
  return [
    h("h2", {}, "Kernels and features"),
    h("p", { class: "quiet" }, "What each kernel was asked for. A feature that was never tried is not verified. Cases from files are not counted."),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Kernels and features" }, h("table", { class: "matrix" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col", colspan: 2 }, "feature"), kernels.map((k) => h("th", { scope: "col" }, named(data.kernelName(k), k))))),
      h("tbody", {}, data.features.map((f) => {
        const first = f.group !== group;
        group = f.group;
        return h("tr", { class: first ? "first" : "" }, h("td", { class: "quiet" }, first ? f.group : ""), h("th", { scope: "row" }, f.name), kernels.map((k) => cell(f.kernels[k])));
      })))),
  ];
}

export function allCases() {
  const rows = data.cases.filter(matchesCase);
  const rank = (c) => -data.stateOrder.indexOf(c.state);
  const open = new Set([Number(/^case-(\d+)$/.exec(location.hash.slice(1))?.[1] ?? NaN)]);
  const toggle = (c, button) => {
    const tr = button.closest("tr");
    const isOpen = tr.nextElementSibling?.classList.contains("expansion");
    button.setAttribute("aria-expanded", String(!isOpen));
    if (isOpen) tr.nextElementSibling.remove();
    else tr.after(h("tr", { class: "expansion" }, h("td", { colspan: 8 }, caseBody(c))));
  };
  const rowOf = (c) => ({ id: `row-${c.index}`, "data-state": c.state });
  return [
    h("h2", {}, "Cases"),
    data.cases.length === 0 ? h("p", {}, "This report holds no case.") : sortedTable({
      caption: rows.length === data.cases.length ? `${count(rows.length)} cases` : `${count(rows.length)} of ${count(data.cases.length)} cases`,
      rows,
      sort: { column: "state", down: true },
      row: rowOf,
      columns: [
        { name: "state", number: false, value: rank, cell: (c) => h("span", {}, badge(c.state, c.reason), c.waiver ? " waived" : "") },
        { name: "max z", number: true, value: (c) => c.max_z, text: (c) => (c.worst ? (c.worst.not_finite ? "not finite" : fixed(c.max_z)) : "") },
        { name: "case", class: "line", value: (c) => c.line, cell: (c) => h("button", { type: "button", class: "link line", "aria-expanded": "false", onclick: (e) => toggle(c, e.currentTarget) }, c.line || "(default case)") },
        { name: "worst", value: (c) => c.worst?.name ?? "" },
        { name: "kernel", value: (c) => c.kernel, cell: (c) => named(data.kernelName(c.kernel), c.kernel) },
        { name: "dtype", value: (c) => c.dtype },
        { name: "rel norm", number: true, value: (c) => c.worst?.rel_norm, text: (c) => (c.worst ? short(c.worst.rel_norm) : "") },
        { name: "time", number: true, value: (c) => c.seconds, text: (c) => `${fixed(c.seconds)} s` },
      ],
    }),
    [...open].filter((i) => data.caseByIndex.has(i)).map((i) => h("div", { class: "card", id: `case-${i}` },
      h("h3", {}, badge(data.caseByIndex.get(i).state), ` ${data.caseByIndex.get(i).line}`), caseBody(data.caseByIndex.get(i)))),
  ];
}

export function environment() {
  const { run } = data;
  const facts = {
    command: run.argv.join(" "),
    sources: `${run.git_sha}${run.git_dirty ? " (modified)" : ""}`,
    version: run.version,
    started: run.started,
    seeds: run.seeds.length > 12 ? `${run.seeds.slice(0, 12).join(", ")} ... (${run.seeds.length})` : run.seeds.join(", "),
    plan: run.plan,
    ...run.environment,
  };
  return [
    h("h2", {}, "Where and with what it ran"),
    h("dl", { class: "facts wide" }, Object.entries(facts).filter(([, v]) => v).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, String(value))))),
    command(run.argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ")),
  ];
}
