// SPDX-License-Identifier: Apache-2.0
// All that is known of one case: figures of its tensors, the worst element between its neighbours, and
// where the error sits.
import { heatMap, mapTop } from "./charts.js";
import { details, number } from "./data.js";
import { badge, command, fixed, h, lazy, short } from "./dom.js";
import { chosen } from "./state.js";

function tensorTable(c) {
  const head = ["tensor", "state", "max z", "rms z", "rel norm", "max ulp"];
  return h("div", { class: "scroll" }, h("table", { class: "small" },
    h("thead", {}, h("tr", {}, head.map((name, i) => h("th", { scope: "col", class: i > 1 ? "number" : "" }, name)))),
    h("tbody", {}, c.tensors.map((t) =>
      h("tr", {}, h("td", {}, t.name), h("td", {}, badge(t.state)),
        h("td", { class: "number" }, fixed(t.max_z)), h("td", { class: "number" }, fixed(t.rms_z)),
        h("td", { class: "number" }, short(t.rel_norm)), h("td", { class: "number" }, short(t.max_ulp)))))));
}

/** The largest figure of each leg of the verdict beside the most that it may be. */
function figureTable(figures) {
  return h("div", { class: "scroll" }, h("table", { class: "small" },
    h("thead", {}, h("tr", {}, ["leg", "largest", "allowed", "of"].map((name, i) => h("th", { scope: "col", class: i === 1 || i === 2 ? "number" : "" }, name)))),
    h("tbody", {}, figures.map((f) => h("tr", { class: number(f.value) <= number(f.allowed) ? "" : "worst" },
      h("td", {}, f.leg), h("td", { class: "number" }, short(number(f.value))), h("td", { class: "number" }, short(number(f.allowed))), h("td", { class: "wide" }, f.what))))));
}

function diagnosis(d) {
  const parts = d.variance.map((v) => `${(100 * number(v.share)).toFixed(0)} % ${v.site}`).join(", ");
  return h("dl", { class: "facts" }, [["where", d.where], ["first stage to break", d.stage],
    ["looks like", d.site && `${d.site} (correlation ${fixed(number(d.likeness))})`], ["the contract's variance there", parts]].filter(([, value]) => value).map(([name, value]) =>
    h("div", { class: name === "where" ? "whole" : "" }, h("dt", {}, name), h("dd", {}, value))));
}

/** value, reference and sigma around the worst element; it stands out by a mark and a tint. */
function windowTable(tensor) {
  const w = tensor.window;
  const worst = tensor.worst[0];
  const rows = w.value.map((value, i) => {
    const [v, r, s] = [number(value), number(w.reference[i]), number(w.sigma[i])];
    const z = v === r ? 0 : Math.abs(v - r) / s;
    const index = w.first + i;
    const where = worst.where.replace(/(\S+)=\d+$/, (_, axis) => `${axis}=${index % tensor.shape.at(-1)}`);
    return h("tr", { class: index === worst.index ? "worst" : "" },
      h("td", {}, index === worst.index ? "▸ " : "", where),
      [v, r, s].map((x) => h("td", { class: "number" }, Number.isFinite(x) ? x.toPrecision(8) : fixed(x))),
      h("td", { class: "number" }, fixed(z)),
      h("td", { class: "meter" }, h("div", { style: `width:${Math.min(100, (z / 16) * 100 || 0)}%` })));
  });
  return h("div", { class: "scroll" }, h("table", { class: "small mono" },
    h("caption", { class: "quiet" }, `The worst element of ${tensor.name} between its neighbours`),
    h("thead", {}, h("tr", {}, ["element", "value", "reference", "sigma", "z", ""].map((name, i) =>
      h("th", { scope: "col", class: i > 0 ? "number" : "" }, name)))),
    h("tbody", {}, rows)));
}

function worstList(tensor) {
  return h("div", { class: "scroll" }, h("table", { class: "small mono" },
    h("caption", { class: "quiet" }, `Worst elements of ${tensor.name}`),
    h("tbody", {}, tensor.worst.map((e) => h("tr", {}, h("td", {}, e.where),
      [e.value, e.reference, e.sigma].map((x) => h("td", { class: "number" }, typeof x === "number" ? x.toPrecision(8) : x)),
      h("td", { class: "number" }, `z ${fixed(number(e.z))}`))))));
}

export function maps(tensor, figure) {
  return h("div", { class: "pair" }, tensor.maps.map((map) =>
    h("figure", {},
      h("figcaption", {}, `${tensor.name}: ${map.rows} by ${map.columns}`, h("span", { class: "quiet" }, ` darkest: ${figure === "rms_z" ? "rms" : "max"} z ${fixed(mapTop(map, figure))}`)),
      lazy({ class: "chart map" }, (width) => heatMap(map, figure, width)))));
}

function failedTensor(tensor, open) {
  return h("details", { class: "tensor", open },
    h("summary", {}, badge(tensor.state), h("strong", {}, ` ${tensor.name} `), h("span", { class: "quiet" }, tensor.reason)),
    tensor.window ? windowTable(tensor) : tensor.worst.length ? worstList(tensor) : null,
    tensor.maps ? maps(tensor, chosen.figure || "max_z") : null);
}

export function caseBody(c) {
  const detail = details.get(c.index);
  const known = detail?.tensors ?? [];
  // The tensor that the verdict names is open; of the others a line each.
  const failed = known.filter((tensor) => tensor.state !== "PASSED");
  const first = failed.find((tensor) => tensor.reason === c.reason) ?? failed[0];
  const parts = [...failed.map((tensor) => failedTensor(tensor, tensor === first)),
    ...known.filter((tensor) => tensor.state === "PASSED" && tensor.maps && (!chosen.tensor || chosen.tensor === tensor.name))
      .map((tensor) => maps(tensor, chosen.figure || "max_z"))];
  return h("div", { class: "case-body" },
    c.reason && !known.some((tensor) => tensor.reason === c.reason) ? h("p", { class: "reason" }, c.leg ? `${c.leg}: ${c.reason}` : c.reason) : null,
    c.waiver ? h("p", {}, "Waived: ", c.waiver) : null,
    c.note ? h("p", { class: "quiet" }, c.note) : null,
    command(c.repro),
    h("dl", { class: "facts" },
      [["kernel", c.kernel], ["dtype", c.dtype], ["time", `${fixed(c.seconds)} s`],
       ["decay within a chunk", `${short(c.decay_span)} nats`], ["condition of I + T", short(c.condition)], ["contract", c.contract || "none"]].map(([name, value]) =>
        h("div", { class: name === "contract" ? "whole" : "" }, h("dt", {}, name), h("dd", {}, value)))),
    detail?.diagnosis ? diagnosis(detail.diagnosis) : null,
    c.tensors.length ? h("div", { class: "pair" }, tensorTable(c), detail?.figures.length ? figureTable(detail.figures) : null) : null,
    parts);
}
