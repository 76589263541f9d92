// SPDX-License-Identifier: Apache-2.0
// The charts, drawn by Observable Plot. Each takes plain rows and a width and gives an SVG or a figure.
import * as Plot from "@observablehq/plot";
import { binsPerZ, number } from "./data.js";
import { fixed, short } from "./dom.js";

const colors = { domain: ["fp64", "fp32", "tf32", "bf16", "fp16"], range: ["#8a63d2", "#2f7ed8", "#1a9c8a", "#d9822b", "#c23b6b"] };
const base = (width, options) => ({
  width: Math.max(width, 220),
  style: { background: "transparent", fontSize: "11px", overflow: "visible" },
  ...options,
});

/** Half-normal density of z with standard deviation s. */
const density = (z, s) => (Math.sqrt(2 / Math.PI) / s) * Math.exp((-z * z) / (2 * s * s));

/** From `low` to 1, at most five. */
function powersOfTen(low) {
  const least = Math.ceil(Math.log10(low));
  const step = Math.ceil(-least / 4) || 1;
  return Array.from({ length: Math.floor(-least / step) + 1 }, (_, i) => Number(`1e${-i * step}`));
}

/** Elements by z on a logarithmic axis, and what the contract explains. */
export function histogram(counts, width) {
  const total = counts.reduce((a, b) => a + b, 0);
  const floor = 0.5 / total;
  const bars = counts
    .map((n, i) => ({ x1: i / binsPerZ, x2: (i + 1) / binsPerZ, y: n / total, n }))
    .filter((bar) => bar.n > 0);
  const most = Math.max(4, counts.length / binsPerZ);
  const curve = (s) =>
    Array.from({ length: 80 }, (_, i) => (i / 79) * most)
      .map((z) => ({ z, y: density(z, s) / binsPerZ }))
      .filter((point) => point.y >= floor);
  return Plot.plot(base(width, {
    height: 170, marginLeft: 44, marginBottom: 32,
    x: { label: "z", domain: [0, most] },
    y: { type: "log", label: null, domain: [floor, 1], ticks: powersOfTen(floor), tickFormat: "~e", grid: true },
    marks: [
      Plot.rect(bars, { x1: "x1", x2: "x2", y1: floor, y2: "y", fill: "var(--accent)", fillOpacity: 0.55, insetLeft: 0.5, insetRight: 0.5,
        title: (d) => `z ${d.x1} to ${d.x2 > 8 ? "any" : d.x2}\n${d.n.toLocaleString("en-US")} of ${total.toLocaleString("en-US")} elements`, tip: true }),
      Plot.line(curve(1), { x: "z", y: "y", stroke: "var(--text)", strokeWidth: 1.2 }),
      Plot.line(curve(Math.SQRT1_2), { x: "z", y: "y", stroke: "var(--text)", strokeWidth: 1.2, strokeDasharray: "3,3" }),
    ],
  }));
}

/** Two to four round numbers over the range of the points, as round as they can be. */
function logTicks(points) {
  const values = points.flatMap((p) => [p.max, p.median]).filter((x) => x > 0);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const within = (steps) => {
    const ticks = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); ++e)
      for (const step of steps) if (step * 10 ** e >= low * 0.999 && step * 10 ** e <= high * 1.001) ticks.push(Number(`${step}e${e}`));
    return ticks;
  };
  const choices = [[1], [1, 3], [1, 2, 3, 5], [1, 1.5, 2, 3, 4, 5, 6, 8]].map(within);
  const ticks = choices.find((list) => list.length > 1) ?? choices.at(-1);
  const every = Math.ceil(ticks.length / 4);
  return ticks.filter((_, i) => i % every === 0);
}

/** Median and largest error of the cases by token of the sequence, in blocks of doubling length. */
export function growth(row, figure, width) {
  const points = row[`max_${figure}`]
    .map((max, i) => ({ token: i === 0 ? 1 : 2 ** (i - 1) + 1, max: number(max), median: number(row[`median_${figure}`][i]), i }))
    .filter((p) => Number.isFinite(p.max) && p.max > 0);
  const name = (p) => (p.i < 2 ? `token ${p.i}` : `tokens ${2 ** (p.i - 1)} to ${2 ** p.i - 1}`);
  const logarithmic = figure === "rel";
  return Plot.plot(base(width, {
    height: 150, marginLeft: 48, marginBottom: 32,
    x: { type: "log", base: 2, label: "token", ticks: 5, tickFormat: (t) => String(Math.round(t - 1)) },
    y: { type: logarithmic ? "log" : "linear", label: null, grid: true, ticks: 4, zero: !logarithmic, tickFormat: logarithmic ? "~e" : undefined, ...(logarithmic ? { ticks: logTicks(points) } : {}) },
    marks: [
      Plot.line(points, { x: "token", y: "max", stroke: "var(--accent)", strokeWidth: 1.8, marker: "dot" }),
      Plot.line(points.filter((p) => p.median > 0), { x: "token", y: "median", stroke: "var(--quiet)", strokeWidth: 1.5, marker: "dot" }),
      Plot.tip(points, Plot.pointerX({ x: "token", y: "max", title: (p) => `${name(p)}\nlargest ${short(p.max)}, median ${short(p.median)}` })),
    ],
  }));
}

/** What the darkest colour of a map stands for: its largest finite figure, or what is nothing to look at. */
export const mapTop = (map, figure) => Math.max(figure === "rms_z" ? 1 : 4, ...map[figure].map(number).filter(Number.isFinite));

/** z over two axes of a tensor. Tokens lie along x, since there are most of them. */
export function heatMap(map, figure, width) {
  const along = map.rows === "token" || map.rows === "sequence";
  const values = map[figure].map(number);
  const top = mapTop(map, figure);
  const edge = (i, cells, extent) => (i * extent) / cells;
  const cells = values.map((z, i) => {
    const [row, column] = [Math.floor(i / map.width), i % map.width];
    const r = [edge(row, map.height, map.row_count), edge(row + 1, map.height, map.row_count)];
    const c = [edge(column, map.width, map.column_count), edge(column + 1, map.width, map.column_count)];
    const [x, y] = along ? [r, c] : [c, r];
    return { x1: x[0], x2: x[1], y1: y[0], y2: y[1], z, fill: Number.isFinite(z) ? z : top, row: r, column: c };
  });
  const span = ([a, b]) => (Math.ceil(b) - 1 <= Math.ceil(a) ? `${Math.ceil(a)}` : `${Math.ceil(a)} to ${Math.ceil(b) - 1}`);
  const [xName, yName, yExtent] = along ? [map.rows, map.columns, map.column_count] : [map.columns, map.rows, map.row_count];
  const yCells = along ? map.width : map.height;
  const whole = (extent) => (extent <= 8 ? Array.from({ length: extent }, (_, i) => i) : undefined);
  return Plot.plot(base(width, {
    height: Math.min(260, 58 + Math.max(24, yCells * (yCells > 16 ? 6 : 12))), marginLeft: 44, marginBottom: 34, marginTop: 22,
    x: { label: xName, nice: false, tickFormat: "d", ticks: whole(along ? map.row_count : map.column_count) ?? 6 },
    y: { label: yName, reverse: true, tickFormat: "d", ticks: whole(yExtent) ?? 5 },
    color: { scheme: "YlOrRd", domain: [0, top], label: figure === "rms_z" ? "rms z" : "max z" },
    marks: [
      Plot.rect(cells, { x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill: "fill", inset: 0.25, tip: true,
        title: (d) => `${map.rows} ${span(d.row)}\n${map.columns} ${span(d.column)}\n${figure === "rms_z" ? "rms" : "max"} z ${fixed(d.z)}` }),
      Plot.text(cells.filter((d) => !Number.isFinite(d.z)), { x: (d) => (d.x1 + d.x2) / 2, y: (d) => (d.y1 + d.y2) / 2, text: () => "!", fill: "white" }),
    ],
  }));
}

/** The largest z of each case against one figure of how hard it is. */
export function difficulty(cases, figure, label, width, onpick) {
  const rows = cases.map((c) => ({ c, x: c[figure], z: c.max_z })).filter((r) => Number.isFinite(r.x) && r.x > 0 && r.z > 0 && Number.isFinite(r.z));
  const far = rows.some((r) => r.z > 40);  // beside a gross failure all else would lie on the axis
  const plot = Plot.plot(base(width, {
    height: 260, marginLeft: 44, marginBottom: 36,
    x: { type: "log", label, tickFormat: "~g", ticks: 6 },
    y: { label: "max z", type: far ? "log" : "linear", zero: !far, grid: !far, ticks: 6, tickFormat: "~g" },
    color: { ...colors, legend: true },
    marks: [
      Plot.dot(rows, { x: "x", y: "z", stroke: (r) => r.c.dtype, fill: (r) => r.c.dtype, fillOpacity: 0.35, r: 3, symbol: (r) => (r.c.bad ? "times" : "circle") }),
      Plot.tip(rows, Plot.pointer({ x: "x", y: "z", title: (r) => `${r.c.kernel}\n${r.c.line}\n${r.c.worst.name}: z ${fixed(r.z)}, ${figure === "condition" ? "condition" : "decay"} ${short(r.x)}` })),
    ],
  }));
  plot.addEventListener("click", () => plot.value && onpick(plot.value.c));
  return plot;
}

/** Bars of one figure by name, for studies. */
export function bars(rows, label, width) {
  const letters = Math.max(...rows.map((r) => r.name.length));
  return Plot.plot(base(width, {
    height: rows.length * 24 + 44, marginLeft: Math.min(12 + 6.2 * letters, width / 2), marginRight: 44,
    x: { label, domain: [0, Math.max(1, ...rows.map((r) => r.value))], grid: true },
    y: { label: null, domain: rows.map((r) => r.name) },
    marks: [
      Plot.barX(rows, { x: "value", y: "name", fill: (r) => (r.own ? "var(--accent)" : "var(--quiet)"), fillOpacity: 0.8 }),
      Plot.text(rows, { x: "value", y: "name", text: "text", textAnchor: "start", dx: 4 }),
    ],
  }));
}
