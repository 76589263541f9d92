// SPDX-License-Identifier: Apache-2.0
// What other runs found: times of kernels and peers (bench), planted faults and what caught them (power),
// and the errors of right kernels (calibration). Shown when the page was given such reports.
import { bars } from "./charts.js";
import { studies } from "./data.js";
import { badge, count, fixed, h, lazy, named, several, short, sortedTable } from "./dom.js";

/** The words of a line that say its size. */
const caseName = (line) => line.split(" ").filter((word) => /^(B|T|lens)=/.test(word)).join(" ").replace(/lens=(\d+),.*/, "lens=$1,…") || line;

const percent = (n, of) => (of ? (100 * n) / of : 0);

export function times() {
  const bench = studies.bench;
  if (!bench) return null;
  const timed = bench.rows.filter((r) => r.round_medians_ms.length);
  const ratios = bench.ratios.map((r) => ({ ...r, name: `${r.pass === "forward" ? "forward" : "both"}, ${caseName(r.case)}`, value: r.ratio, own: r.ratio > 1, text: `${fixed(r.ratio)}x` }));
  const peers = [...new Set(ratios.map((r) => `${r.kernel} against ${r.peer}`))];
  return [
    h("h2", {}, "Times"),
    h("p", { class: "quiet" }, `${timed[0]?.device ?? "Nothing was timed"}, ${bench.started.replace("T", " ").replace("Z", " UTC")}, sources ${bench.git_sha.slice(0, 10)}: ` +
      `medians of ${bench.rounds} rounds of ${bench.repetitions} calls, caches cold, behind a correctness gate.`),
    peers.map((pair) => h("figure", {},
      h("figcaption", {}, `Time of the peer over time of the kernel: ${pair}`),
      lazy({ class: "chart" }, (width) => bars(ratios.filter((r) => `${r.kernel} against ${r.peer}` === pair), "times", width)))),
    sortedTable({
      caption: `${bench.rows.length} kernels, cases and passes`, rows: bench.rows, page: 30,
      columns: [
        { name: "kernel", value: (r) => r.kernel },
        { name: "pass", value: (r) => r.pass },
        { name: "median, ms", number: true, value: (r) => r.median_ms, cell: (r) => h("span", {}, r.median_ms === undefined ? badge(r.gate, r.reason) : r.median_ms.toPrecision(4)) },
        { name: "p10 to p90", class: "number", value: (r) => r.p10_ms, text: (r) => (r.p10_ms === undefined ? r.reason : `${r.p10_ms.toPrecision(3)} to ${r.p90_ms.toPrecision(3)}`) },
        { name: "GB/s", number: true, title: "what must move at least, over the time", value: (r) => r.floor_gb_per_s, text: (r) => (r.floor_gb_per_s === undefined ? "" : count(Math.round(r.floor_gb_per_s))) },
        { name: "of a copy", number: true, value: (r) => percent(r.floor_gb_per_s, r.copy_gb_per_s), text: (r) => (r.copy_gb_per_s ? `${percent(r.floor_gb_per_s, r.copy_gb_per_s).toFixed(0)} %` : "") },
        { name: "TFLOP/s", number: true, value: (r) => r.tflop_per_s, text: (r) => (r.tflop_per_s === undefined ? "" : fixed(r.tflop_per_s, 1)) },
        { name: "MB", number: true, title: "held beyond the inputs", value: (r) => r.memory_bytes, text: (r) => (r.memory_bytes ? count(Math.round(r.memory_bytes / 1e6)) : "") },
        { name: "case", class: "wide", value: (r) => r.case },
      ],
    }),
  ];
}

export function power() {
  const study = studies.power;
  if (!study) return null;
  const judged = study.mutants.filter((m) => m.state !== "equivalent");
  const caught = judged.filter((m) => m.state === "caught").length;
  const rows = [
    { name: "this suite", own: true, n: caught, alarms: study.right_alarms },
    ...Object.keys(study.rules).map((rule) => ({ name: rule, n: judged.filter((m) => m.rules.includes(rule)).length, alarms: study.rule_false_alarms[rule] ?? 0 })),
  ].map((r) => ({ ...r, value: percent(r.n, judged.length), text: `${percent(r.n, judged.length).toFixed(1)} %` }));
  const perturbations = Object.entries(study.perturbations ?? {}).map(([name, p]) => ({ name, ...p }));
  return [
    h("h2", {}, "Power: would a fault have been seen?"),
    judged.length ? [
      h("p", {}, `${caught} of ${judged.length} planted faults are caught; ${study.mutants.length - judged.length} more change nothing. `,
        `On ${several(study.right_cases, "case")} of right kernels: ${several(study.right_alarms, "false alarm")}.`),
      h("figure", {}, h("figcaption", {}, "Planted faults caught on the same outputs, per cent"), lazy({ class: "chart" }, (width) => bars(rows, "%", width))),
      sortedTable({
        caption: `${study.mutants.length} planted faults`, rows: study.mutants, page: 15, sort: { column: "state", down: true },
        columns: [
          { name: "state", value: (m) => m.state },
          { name: "fault", value: (m) => m.name },
          { name: "kind", value: (m) => m.kind },
          { name: "what", class: "wide", value: (m) => m.what },
          { name: "caught by", value: (m) => m.leg },
          { name: "case", class: "wide", value: (m) => m.line },
          { name: "public rules that see it", class: "wide", value: (m) => m.rules.join(", ") },
        ],
      })] : null,
    perturbations.length ? sortedTable({
      caption: "True results, perturbed", rows: perturbations,
      columns: [
        { name: "perturbation", value: (p) => p.name },
        { name: "tried", number: true, value: (p) => p.tried },
        { name: "rejected", number: true, value: (p) => p.rejected },
        { name: "within the envelope", number: true, value: (p) => p.within },
        { name: "missed", number: true, value: (p) => p.missed.length },
      ],
    }) : null,
  ];
}

/** One row for all orders of summation of a group. */
function overOrders(rows) {
  const groups = new Map();
  for (const row of rows) {
    const key = [row.kernel, row.dtype, row.contract, row.by, row.value].join("|");
    const group = groups.get(key);
    if (!group) {
      groups.set(key, { ...row });
      continue;
    }
    if (row.max_z > group.max_z) Object.assign(group, { max_z: row.max_z, worst: row.worst });
    for (const figure of ["elements", "sum_z", "sum_z2"]) group[figure] += row[figure];
  }
  return [...groups.values()].map((g) => ({ ...g, rms_z: Math.sqrt(g.sum_z2 / g.elements), bias: g.sum_z / g.elements }));
}

export function calibration() {
  const study = studies.calibration;
  if (!study) return null;
  const orders = new Set(study.rows.map((r) => r.order)).size;
  const rows = overOrders(study.rows);
  const elements = rows.filter((r) => r.by === "tensor").reduce((sum, r) => sum + r.elements, 0);
  const alarms = Object.entries(study.alarms ?? {});
  return [
    h("h2", {}, "Calibration: the errors of right kernels"),
    h("p", {}, `${count(elements)} elements of right kernels, each in ${several(orders, "order")} of summation: ${several(alarms.length, "false alarm")}.`),
    sortedTable({
      caption: "By kernel, dtype, contract (point at the dtype), and recipe or tensor", rows, page: 20, sort: { column: "max z", down: true },
      columns: [
        { name: "kernel", value: (r) => r.kernel },
        { name: "dtype", value: (r) => r.dtype, cell: (r) => named(r.dtype, r.contract) },
        { name: "by", value: (r) => r.by },
        { name: "of", value: (r) => r.value },
        { name: "elements", number: true, value: (r) => r.elements, text: (r) => count(r.elements) },
        { name: "max z", number: true, value: (r) => r.max_z, text: (r) => fixed(r.max_z) },
        { name: "allowed", number: true, value: (r) => study.allowed[`${r.kernel} ${r.dtype}`], text: (r) => String(study.allowed[`${r.kernel} ${r.dtype}`] ?? "") },
        { name: "rms z", number: true, value: (r) => r.rms_z, text: (r) => fixed(r.rms_z) },
        { name: "bias", number: true, value: (r) => r.bias, text: (r) => short(r.bias) },
        { name: "worst case", class: "wide", value: (r) => r.worst },
      ],
    }),
    alarms.map(([line, why]) => h("p", { class: "reason" }, h("code", {}, line), " ", why)),
  ];
}
