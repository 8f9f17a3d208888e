// Values: numbers, tables, heat maps, histograms and their statistics.

import type { Heat, Num, Picture } from "./data";
import { el, shortened, svg } from "./dom";

/** A number in a few characters. */
export function brief(x: Num | undefined): string {
  if (x === undefined) return "";
  const n = Number(x);
  if (Number.isNaN(n)) return "NaN";
  if (!Number.isFinite(n)) return n > 0 ? "∞" : "−∞";
  if (n === 0) return "0";
  const size = Math.abs(n);
  const text = size >= 1e5 || size < 1e-3 ? n.toExponential(2) : String(Number(n.toPrecision(4)));
  return text.replace("-", "−").replace("e−", "e−").replace("e+", "e");
}

export function shapeText(picture: Picture): string {
  const type = picture.dtype === "float32" ? "" : `${picture.dtype} `;
  return picture.shape.length ? `${type}[${picture.shape.join(", ")}]` : `${type}scalar`;
}

export function sizeOf(picture: Picture): number {
  return picture.shape.reduce((size, n) => size * n, 1);
}

export function isScalar(picture: Picture | null | undefined): boolean {
  return !!picture && sizeOf(picture) === 1 && !!(picture.values || picture.text);
}

export function scalarText(picture: Picture): string {
  return picture.values ? brief(picture.values[0]) : (picture.text?.[0] ?? "");
}

/** The largest absolute value: colours are relative to it. */
export function reach(values: Num[]): number {
  let most = 0;
  for (const x of values) {
    const size = Math.abs(Number(x));
    if (Number.isFinite(size) && size > most) most = size;
  }
  return most || 1;
}

/** Blue for negative, orange for positive, black (in the dark white) for NaN: told apart by all kinds of colour vision. */
export function colour(x: Num, most: number, full = 100): string {
  const n = Number(x);
  if (!Number.isFinite(n)) return "var(--nan)";
  const strength = Math.round(Math.sqrt(Math.min(1, Math.abs(n) / most)) * full);
  return `color-mix(in oklab, var(${n < 0 ? "--low" : "--high"}) ${strength}%, var(--zero))`;
}

function grid(picture: Picture): Heat | null {
  if (picture.heat) return picture.heat;
  if (!picture.values) return null;
  const columns = picture.shape.at(-1) ?? 1;
  if (!columns) return null;
  return { rows: picture.values.length / columns, columns, values: picture.values };
}

/** Red, green and blue of a colour of the style sheet, such as #1f6fb5. */
function rgb(name: string): number[] {
  const text = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  return [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
}

const thumbnails = new Map<string, WeakMap<Picture, string>>();

/** A small image of a value for a box of the graph, as a data URL; empty if there is nothing to show. */
export function thumbnail(picture: Picture, dark: boolean): string {
  const theme = dark ? "dark" : "light";
  let known = thumbnails.get(theme);
  if (!known) thumbnails.set(theme, (known = new WeakMap()));
  let url = known.get(picture);
  if (url === undefined) known.set(picture, (url = paint(picture)));
  return url;
}

function paint(picture: Picture): string {
  const heat = picture.histogram ? null : grid(picture); // a large value by all of its elements, not by a sample
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d");
  if (!context) return "";
  const [zero, low, high, nan] = ["zero", "low", "high", "nan"].map(rgb) as [number[], number[], number[], number[]];
  if (heat) {
    canvas.width = heat.columns;
    canvas.height = heat.rows;
    const most = reach(heat.values);
    heat.values.forEach((x, i) => {
      const n = Number(x);
      const end = Number.isFinite(n) ? (n < 0 ? low : high) : nan;
      const part = Number.isFinite(n) ? Math.sqrt(Math.min(1, Math.abs(n) / most)) : 1;
      const mixed = end.map((c, k) => Math.round(zero[k]! + (c - zero[k]!) * part));
      context.fillStyle = `rgb(${mixed.join(" ")})`;
      context.fillRect(i % heat.columns, Math.floor(i / heat.columns), 1, 1);
    });
  } else if (picture.histogram) {
    canvas.width = picture.histogram.length;
    canvas.height = 24;
    const most = Math.max(...picture.histogram);
    context.fillStyle = `rgb(${zero.join(" ")})`;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.fillStyle = `rgb(${low.join(" ")})`;
    picture.histogram.forEach((count, i) => {
      const height = count ? Math.max(1, Math.round((count / most) * 22)) : 0;
      context.fillRect(i, 24 - height, 1, height);
    });
  } else {
    return "";
  }
  return canvas.toDataURL();
}

/** The index of an element in its array, as in `[0, 2]`. */
export function indexText(i: number, shape: number[]): string {
  const index: number[] = [];
  let rest = i;
  for (const n of [...shape].reverse()) {
    index.unshift(rest % n);
    rest = Math.floor(rest / n);
  }
  return index.length ? `[${index.join(", ")}]` : "";
}

function table(picture: Picture): HTMLElement {
  const entries = picture.values ?? picture.text ?? [];
  const columns = Math.max(1, picture.shape.at(-1) ?? 1);
  const most = picture.values ? reach(picture.values) : 1;
  const body = el("tbody");
  for (let start = 0; start < entries.length; start += columns) {
    const row = el("tr");
    entries.slice(start, start + columns).forEach((x, i) => {
      const cell = el("td", { title: `${indexText(start + i, picture.shape)} ${x}`.trim(), "data-value": String(x) });
      cell.textContent = picture.values ? brief(x) : String(x);
      if (picture.values && entries.length > 1) cell.style.backgroundColor = colour(x, most, 55); // text stays readable on it
      if (picture.values && !Number.isFinite(Number(x))) cell.classList.add("not-finite");
      row.append(cell);
    });
    body.append(row);
  }
  return el("div", { class: "scroll" }, el("table", { class: "numbers" }, body));
}

export function heatMap(heat: Heat, width: number, labels?: { rows: string[]; columns: string[] }): SVGSVGElement {
  const widest = labels ? 46 : 26;
  const cell = Math.max(3, Math.min(widest, Math.floor(width / heat.columns), Math.floor(320 / heat.rows)));
  const left = labels ? 8 + 6.6 * Math.max(0, ...labels.rows.map((text) => text.length)) : 0;
  const top = labels ? 8 + 6.6 * Math.max(0, ...labels.columns.map((text) => text.length)) : 0;
  const picture = svg("svg", {
    class: "heat",
    viewBox: `0 0 ${left + cell * heat.columns + 1} ${top + cell * heat.rows + 1}`,
    width: left + cell * heat.columns + 1,
    role: "img",
  });
  const most = reach(heat.values);
  heat.values.forEach((x, i) => {
    const [row, column] = [Math.floor(i / heat.columns), i % heat.columns];
    const where = labels ? `${labels.rows[row]} by ${labels.columns[column]}: ` : "";
    const square = svg(
      "rect",
      { x: left + column * cell, y: top + row * cell, width: cell, height: cell, "data-value": String(x) },
      svg("title", {}, `${where}${brief(x)}`),
    );
    square.style.fill = colour(x, most, cell >= 34 ? 60 : 100);
    picture.append(square);
    if (cell >= 34) {
      const at = { x: left + (column + 0.5) * cell, y: top + (row + 0.5) * cell + 4, "text-anchor": "middle" };
      picture.append(svg("text", { ...at, class: Number.isFinite(Number(x)) ? "" : "not-finite" }, shortened(brief(x), 6)));
    }
  });
  if (labels) axes(picture, heat, labels, cell, left, top);
  return picture;
}

function axes(
  picture: SVGSVGElement,
  heat: Heat,
  labels: { rows: string[]; columns: string[] },
  cell: number,
  left: number,
  top: number,
): void {
  const every = Math.max(1, Math.ceil(13 / cell));
  for (let row = 0; row < heat.rows; row += every) {
    const y = top + (row + 0.5) * cell + 4;
    picture.append(svg("text", { x: left - 5, y, "text-anchor": "end" }, labels.rows[row] ?? ""));
  }
  for (let column = 0; column < heat.columns; column += every) {
    const x = left + (column + 0.5) * cell + 4;
    picture.append(svg("text", { transform: `translate(${x} ${top - 5}) rotate(-90)` }, labels.columns[column] ?? ""));
  }
}

function histogram(picture: Picture): SVGSVGElement {
  const counts = picture.histogram!;
  const most = Math.max(...counts);
  const chart = svg("svg", { class: "histogram", viewBox: `0 0 ${counts.length * 8} 72`, role: "img" });
  counts.forEach((count, i) => {
    const height = count ? Math.max(1, (count / most) * 56) : 0;
    chart.append(
      svg("rect", { x: i * 8, y: 58 - height, width: 7, height }, svg("title", {}, `${count} elements`)),
    );
  });
  chart.append(svg("text", { x: 0, y: 70 }, brief(picture.low)));
  chart.append(svg("text", { x: counts.length * 8, y: 70, "text-anchor": "end" }, brief(picture.high)));
  return chart;
}

function statistics(picture: Picture): string {
  const parts: string[] = [];
  if (picture.low !== undefined) parts.push(`min ${brief(picture.low)}`, `max ${brief(picture.high)}`);
  if (picture.mean !== undefined) parts.push(`mean ${brief(picture.mean)}`);
  if (picture.norm !== undefined) parts.push(`norm ${brief(picture.norm)}`);
  if (sizeOf(picture) > 1 && /float|complex/.test(picture.dtype)) parts.push(`NaN ${picture.nan ?? 0}`, `inf ${picture.inf ?? 0}`);
  return parts.join(" · ");
}

/** A value in full: shape, dtype, elements or a sample of them, and statistics. */
export function valueView(title: string, picture: Picture | null | undefined, none: string, id = ""): HTMLElement {
  const view = el("div", { class: "value", "data-view": id || title }, el("h4", {}, title));
  if (!picture) {
    view.append(el("p", { class: "muted" }, none));
    return view;
  }
  view.append(
    el("p", { class: "shape" }, `${picture.dtype} ${picture.shape.length ? `[${picture.shape.join(", ")}]` : "scalar"}`),
  );
  if (picture.unknown) view.append(el("p", { class: "muted" }, "not kept by the tape, because no rule needs it"));
  else if (isScalar(picture)) {
    const text = picture.values ? brief(picture.values[0]) : picture.text![0]!;
    const exact = String(picture.values?.[0] ?? text);
    view.append(el("p", { class: "scalar", title: exact, "data-value": exact }, text));
  } else if (picture.values?.length || picture.text?.length) view.append(table(picture));
  else {
    if (picture.heat) {
      view.append(heatMap(picture.heat, 280));
      if (picture.heat.rows * picture.heat.columns < sizeOf(picture)) {
        view.append(el("p", { class: "muted" }, `a sample of ${picture.heat.rows} × ${picture.heat.columns} elements`));
      }
    }
    if (picture.histogram) view.append(histogram(picture));
  }
  if (!picture.unknown && statistics(picture)) view.append(el("p", { class: "statistics" }, statistics(picture)));
  if (picture.nan || picture.inf) {
    view.append(el("p", { class: "warn" }, `⚠ ${picture.nan ?? 0} NaN, ${picture.inf ?? 0} infinite`));
  }
  if (picture.sparse) view.append(el("p", { class: "muted" }, "sparse: IndexedSlices, shown dense"));
  return view;
}

/** A key for the colours. */
export function legend(): HTMLElement {
  return el("div", { class: "legend", "aria-label": "colours: blue is negative, orange is positive" },
    el("span", {}, "−"), el("i"), el("span", {}, "+"));
}
