// SPDX-License-Identifier: Apache-2.0
// The data that C++ put into the page (reports/html_report.cpp), as objects: cases with their tensors,
// and what is known of them in groups. Reads once, changes nothing.

/** Numbers that JSON cannot hold are words. */
export const number = (x) =>
  x === "nan" ? NaN : x === "inf" ? Infinity : x === "-inf" ? -Infinity : x;

const raw = JSON.parse(document.getElementById("data").textContent);
const word = (i) => raw.words[i];

function tensor([name, state, maxZ, rmsZ, relNorm, maxUlp, notFinite]) {
  return {
    name: word(name),
    state: word(state),
    max_z: notFinite > 0 ? Infinity : number(maxZ),
    rms_z: number(rmsZ),
    rel_norm: number(relNorm),
    max_ulp: number(maxUlp),
    not_finite: notFinite,
  };
}

const badness = (t) => (t.state === "PASSED" ? 0 : 1e300) + t.max_z;

function caseOf(row) {
  const [index, kernel, dtype, state, line, seconds, span, condition, contract, note, waiver] = row;
  const [leg, reason, repro, tensors] = row.slice(11);
  const list = tensors.map(tensor);
  const worst = list.reduce((a, b) => (a && !(badness(b) > badness(a)) ? a : b), null);
  return {
    index, line, leg, reason, repro,
    kernel: word(kernel), dtype: word(dtype), state: word(state),
    contract: word(contract), note: word(note), waiver: word(waiver),
    seconds: number(seconds), decay_span: number(span), condition: number(condition),
    tensors: list, worst,
    max_z: worst ? worst.max_z : NaN,
    recipe: /(?:^| )recipe=(\S+)/.exec(line)?.[1] ?? (line.startsWith("file=") ? "file" : "plain"),
    bad: word(state) !== "PASSED" && word(state) !== "SKIPPED" && word(waiver) === "",
  };
}

export const run = raw.run;
export const exitCode = raw.exit_code;
export const cases = raw.cases.map(caseOf);
export const caseByIndex = new Map(cases.map((c) => [c.index, c]));
export const details = new Map(Object.entries(raw.details).map(([i, detail]) => [Number(i), detail]));
export const legs = raw.legs.map((row) => ({ ...row, value: number(row.value), allowed: number(row.allowed) }));
export const accuracy = raw.accuracy.map((row) => ({ ...row, max_z: number(row.max_z), rel_norm: number(row.rel_norm) }));
export const growth = raw.growth;
export const features = raw.features;
export const studies = raw.studies ?? {};
export const binsPerZ = raw.bins_per_z;

const unique = (list) => [...new Set(list)];
export const kernels = unique(cases.map((c) => c.kernel));

/** A kernel as it is called in tables: a library by the name of its file, where that tells it from others. */
const shortNames = kernels.map((k) => (/^[^ ]*\/[^/ ]+$/.test(k) ? k.slice(k.lastIndexOf("/") + 1) : k.length > 40 ? `${k.slice(0, 38)} …` : k));
export const kernelName = (kernel) => {
  const short = shortNames[kernels.indexOf(kernel)] ?? kernel;
  return shortNames.filter((name) => name === short).length > 1 ? kernel : short;
};
export const dtypes = unique(cases.map((c) => c.dtype));
export const states = unique(cases.map((c) => c.state));
export const tensors = unique(accuracy.map((row) => row.tensor));
export const stateOrder = ["FAILED", "MISTRUSTED", "CRASHED", "TIMED_OUT", "SKIPPED", "PASSED"];
