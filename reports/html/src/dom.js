// SPDX-License-Identifier: Apache-2.0
// Small pieces of page: elements, figures as text, tables that sort, charts that draw when they come
// into view.

/** An element: h("a", {href: "#x", onclick: f}, "text", child, [more]). */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

export function fixed(x, digits = 2) {
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x < 0 ? "-Inf" : "Inf";
  return Math.abs(x) >= 1e4 ? x.toExponential(1).replace("e+", "e") : x.toFixed(digits);
}

/** Three digits, in powers of ten where that is shorter. */
export function short(x) {
  if (typeof x !== "number" || !Number.isFinite(x)) return typeof x === "number" ? fixed(x) : String(x ?? "");
  if (x === 0) return "0";
  const size = Math.abs(x);
  return size >= 1e5 || size < 1e-3 ? x.toExponential(1).replace("e+", "e") : String(Number(x.toPrecision(3)));
}

export const count = (n) => n.toLocaleString("en-US");

/** What tells one state from another without colour is its word. */
export const badge = (state, title) => h("span", { class: `state ${state.toLowerCase()}`, title }, state);

/** Shown short, whole when pointed at. */
export const named = (short, whole) => h("span", short === whole ? {} : { title: whole }, short);

/** 1 false alarm, 2 false alarms. */
export const several = (n, what) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;

export function copyButton(text) {
  const button = h("button", { class: "copy", type: "button", title: "Copy the command" }, "copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {  // a page from a file may have no clipboard
      const area = h("textarea", {}, text);
      button.after(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "copied";
    setTimeout(() => (button.textContent = "copy"), 1500);
  });
  return button;
}

export const command = (text) => h("div", { class: "command" }, h("code", {}, text), copyButton(text));

/** Draws when it is about to be seen: a page of many charts opens at once. */
const observer = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries)
      if (isIntersecting) {
        observer.unobserve(target);
        target.draw();
      }
  },
  { rootMargin: "300px" },
);

export function lazy(attributes, draw) {
  const box = h("div", attributes);
  box.draw = () => box.replaceChildren(draw(box.clientWidth));
  observer.observe(box);
  return box;
}

/**
 * A table that sorts by its heads. columns: {name, value(row), text(row) or cell(row), number, title}.
 * Shows `page` rows and a button for more.
 */
export function sortedTable({ columns, rows, sort, onsort, page = 100, caption, row: rowAttributes = () => ({}) }) {
  let shown = page;
  let order = sort ?? { column: columns[0].name, down: false };
  const body = h("tbody");
  const more = h("button", { type: "button", class: "more", onclick: () => ((shown += page * 5), fill()) });
  const heads = columns.map((column) =>
    h("th", { scope: "col", class: column.number ? "number" : "", title: column.title },
      h("button", { type: "button", onclick: () => sortBy(column) }, column.name)));

  function sortBy(column) {
    order = { column: column.name, down: order.column === column.name ? !order.down : Boolean(column.number) };
    onsort?.(order);
    fill();
  }
  function fill() {
    const column = columns.find((c) => c.name === order.column) ?? columns[0];
    const key = (x) => (Number.isNaN(x) || x === undefined ? -Infinity : x);
    const sorted = [...rows].sort((a, b) => {
      const [x, y] = [key(column.value(a)), key(column.value(b))];
      return (x < y ? -1 : x > y ? 1 : 0) * (order.down ? -1 : 1);
    });
    heads.forEach((head, i) => {
      if (columns[i] === column) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    body.replaceChildren(...sorted.slice(0, shown).map((row) =>
      h("tr", rowAttributes(row), columns.map((c) =>
        h("td", { class: c.number ? "number" : c.class }, c.cell ? c.cell(row) : c.text ? c.text(row) : String(c.value(row)))))));
    more.hidden = rows.length <= shown;
    more.textContent = `Show more of ${count(rows.length - shown)} further rows`;
  }
  fill();
  return h("div", {}, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", { class: "quiet" }, caption), h("thead", {}, h("tr", {}, heads)), body)), more);
}
