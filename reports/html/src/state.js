// SPDX-License-Identifier: Apache-2.0
// What is chosen to be seen, kept in the address: every view has a link of its own.
// #SECTION?kernel=K&dtype=D&tensor=T&state=S&q=TEXT ... or #case-17.
import { dtypes, kernels, states, tensors } from "./data.js";

const keys = ["kernel", "dtype", "tensor", "state", "q", "sort", "figure"];
const known = { kernel: kernels, dtype: dtypes, tensor: tensors, state: [...states, "not passed"] };
const listeners = [];

export const chosen = {};
export let section = "";

function read() {
  const [place, query] = decodeURI(location.hash.slice(1)).split("?");
  section = place;
  const given = new URLSearchParams(query);
  for (const key of keys) {
    const value = given.get(key) ?? "";
    chosen[key] = known[key] && !known[key].includes(value) ? "" : value;
  }
}

function write() {
  const query = new URLSearchParams(Object.entries(chosen).filter(([, value]) => value !== ""));
  const text = query.toString();
  history.replaceState(null, "", `#${section}${text ? `?${text}` : ""}`);
}

export function choose(changes, place = section) {
  Object.assign(chosen, changes);
  section = place;
  write();
  listeners.forEach((f) => f());
}

/** Goes to a section or a case, keeping what is chosen. */
export function go(place) {
  section = place;
  write();
  document.getElementById(place)?.scrollIntoView();
}

export const onChange = (f) => listeners.push(f);

export const matchesCase = (c) =>
  (!chosen.kernel || c.kernel === chosen.kernel) &&
  (!chosen.dtype || c.dtype === chosen.dtype) &&
  (!chosen.state || c.state === chosen.state || (chosen.state === "not passed" && c.bad)) &&
  (!chosen.tensor || c.tensors.length === 0 || c.tensors.some((t) => t.name === chosen.tensor)) &&
  chosen.q.toLowerCase().split(/\s+/).every((word) => `${c.kernel} ${c.line} ${c.note} ${c.reason}`.toLowerCase().includes(word));

export const matchesGroup = (g) =>
  (!chosen.kernel || g.kernel === chosen.kernel) &&
  (!chosen.dtype || g.dtype === chosen.dtype) &&
  (!chosen.tensor || g.tensor === chosen.tensor);

read();
addEventListener("hashchange", () => {
  read();
  listeners.forEach((f) => f());
});
