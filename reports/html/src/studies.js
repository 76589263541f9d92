// SPDX-License-Identifier: Apache-2.0
// What studies of the judge itself found: planted faults and what caught them (power), and the errors of
// right kernels (calibration). Shown when the report has such sections.
import { bars } from "./charts.js";
import { studies } from "./data.js";
import { count, fixed, h, lazy, short, sortedTable } from "./dom.js";

const percent = (n, of) => (of ? (100 * n) / of : 0);

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
        `On ${count(study.right_cases)} cases of right kernels there are ${study.right_alarms} false alarms.`),
      h("figure", {}, h("figcaption", {}, "Planted faults caught on the same outputs, per cent"), lazy({ class: "chart" }, (width) => bars(rows, "%", width))),
      sortedTable({
        caption: `${study.mutants.length} planted faults`, rows: study.mutants, page: 15, sort: { column: "state", down: true },
        columns: [
          { name: "state", value: (m) => m.state },
          { name: "fault", value: (m) => m.name },
          { name: "kind", value: (m) => m.kind },
          { name: "what", value: (m) => m.what },
          { name: "caught by", value: (m) => m.leg },
          { name: "case", value: (m) => m.line },
          { name: "public rules that see it", value: (m) => m.rules.join(", ") },
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

export function calibration() {
  const study = studies.calibration;
  if (!study) return null;
  const rows = study.rows;
  const elements = rows.filter((r) => r.by === "tensor").reduce((sum, r) => sum + r.elements, 0);
  const alarms = Object.entries(study.alarms ?? {});
  return [
    h("h2", {}, "Calibration: the errors of right kernels"),
    h("p", {}, `${count(elements)} elements of right kernels, ${alarms.length} false alarms.`),
    sortedTable({
      caption: "By kernel, dtype, contract, and recipe or tensor", rows, page: 20, sort: { column: "max z", down: true },
      columns: [
        { name: "kernel", value: (r) => r.kernel },
        { name: "dtype", value: (r) => r.dtype },
        { name: "by", value: (r) => r.by },
        { name: "of", value: (r) => r.value },
        { name: "elements", number: true, value: (r) => r.elements, text: (r) => count(r.elements) },
        { name: "max z", number: true, value: (r) => r.max_z, text: (r) => fixed(r.max_z) },
        { name: "allowed", number: true, value: (r) => study.allowed[`${r.kernel} ${r.dtype}`], text: (r) => String(study.allowed[`${r.kernel} ${r.dtype}`] ?? "") },
        { name: "rms z", number: true, value: (r) => r.rms_z, text: (r) => fixed(r.rms_z) },
        { name: "bias", number: true, value: (r) => r.bias, text: (r) => short(r.bias) },
        { name: "worst case", value: (r) => r.worst },
      ],
    }),
    alarms.map(([line, why]) => h("p", { class: "reason" }, h("code", {}, line), " ", why)),
  ];
}
