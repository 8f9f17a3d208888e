// The graph: laid out by dagre, drawn as SVG in an area that scrolls.

import { layout as dagreLayout, Graph as DagreGraph } from "@dagrejs/dagre";
import type { Node, Picture, Tape } from "./data";
import { shortName, shortened, svg } from "./dom";
import type { Box, Folding, Line, Visible } from "./fold";
import { brief, isScalar, scalarText, shapeText, sizeOf, thumbnail } from "./values";

interface Point {
  x: number;
  y: number;
}

interface Placed extends Point {
  width: number;
  height: number;
}

export interface Look {
  dark: boolean;
  selected: number; // node, or -1
  lit: Set<number>; // nodes of a line of the program
  step: number; // steps of the sweep that are done; -1 for all
  layer: string | null; // of nested tapes; null for all
  constants: boolean;
}

export interface Handlers {
  choose: (node: number) => void;
  open: (group: number) => void;
  close: (group: number) => void;
}

const ICONS = { nan: "NaN", inf: "∞", exploding: "▲", vanishing: "▼" };
const THUMB = 30;
// As in style.css.
const TITLE = '600 13px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const SMALL = '11px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

export class GraphView {
  readonly root: SVGSVGElement;
  private visible!: Visible;
  private placed = new Map<string, Placed>();
  private routes = new Map<string, Point[]>();
  private clusters = new Map<number, Placed>();
  private elements = new Map<string, SVGGElement>();
  private paths = new Map<string, SVGPathElement>();
  private width = 0;
  private height = 0;
  zoom = 1;

  constructor(
    private readonly area: HTMLElement,
    private readonly tape: Tape,
    private readonly folding: Folding,
    private readonly handlers: Handlers,
  ) {
    this.root = svg("svg", { class: "graph", role: "group", "aria-label": "operations, from sources to the target" });
    area.replaceChildren(this.root);
  }

  get size(): Point {
    return { x: this.width, y: this.height };
  }

  /** Lay out what is visible, and draw it. */
  draw(look: Look): void {
    this.visible = this.folding.visible((node) => this.isShown(node, look));
    this.place();
    this.root.replaceChildren(markers());
    this.elements.clear();
    this.paths.clear();
    for (const [group, spot] of this.clusters) this.root.append(this.cluster(group, spot));
    const widest = Math.max(...[...this.visible.lines.values()].map((line) => usable(line.norm)), 1e-30);
    for (const [id, line] of this.visible.lines) this.root.append(this.line(id, line, widest));
    for (const box of this.visible.boxes.values()) this.root.append(this.box(box, look));
    this.setZoom(this.zoom);
    this.update(look);
  }

  private isShown(node: number, look: Look): boolean {
    const one = this.tape.nodes[node]!;
    if (one.kind === "constant" && !look.constants) return false;
    if (look.layer === null || !one.op) return true;
    return (one.sweep ?? "") === look.layer;
  }

  // -- placing ---------------------------------------------------------------------------------------------------------

  private place(): void {
    const graph = new DagreGraph({ compound: true, multigraph: false });
    graph.setGraph({ rankdir: "TB", nodesep: 22, ranksep: 34, marginx: 14, marginy: 14 });
    graph.setDefaultEdgeLabel(() => ({}));
    const used = new Set<number>();
    for (const box of this.visible.boxes.values()) {
      graph.setNode(box.id, { ...this.measure(box) });
      for (const group of this.folding.around(box.parent)) used.add(group);
    }
    for (const group of used) graph.setNode(`open${group}`, {});
    for (const group of used) {
      const parent = this.folding.parents[group]!;
      if (parent >= 0) graph.setParent(`open${group}`, `open${parent}`);
    }
    for (const box of this.visible.boxes.values()) if (box.parent >= 0) graph.setParent(box.id, `open${box.parent}`);
    for (const line of this.visible.lines.values()) graph.setEdge(line.from, line.to, {});
    dagreLayout(graph);
    const spot = (id: string) => graph.node(id) as unknown as Placed;
    this.placed = new Map([...this.visible.boxes.keys()].map((id) => [id, spot(id)]));
    this.clusters = new Map([...used].sort((a, b) => a - b).map((group) => [group, spot(`open${group}`)]));
    this.routes = new Map(
      [...this.visible.lines].map(([id, line]) => [
        id,
        (graph.edge(line.from, line.to) as unknown as { points: Point[] }).points,
      ]),
    );
    const whole = graph.graph() as { width?: number; height?: number };
    this.width = Math.max(whole.width ?? 0, 60);
    this.height = Math.max(whole.height ?? 0, 60);
  }

  private measure(box: Box): { width: number; height: number } {
    if (box.node < 0) return { width: 206, height: 52 };
    const node = this.tape.nodes[box.node]!;
    const [title, below] = texts(node);
    const thumbs = pictures(node).filter(Boolean).length;
    const wide = Math.max(textWidth(title, TITLE), textWidth(below, SMALL), 44);
    const width = wide + 24 + thumbs * (THUMB + 6) + (thumbs ? 4 : 0);
    return { width, height: node.kind === "constant" ? 40 : 50 };
  }

  // -- drawing ---------------------------------------------------------------------------------------------------------

  private cluster(group: number, spot: Placed): SVGGElement {
    const { label, kind } = this.tape.groups[group]!;
    const [x, y] = [spot.x - spot.width / 2, spot.y - spot.height / 2];
    const close = () => this.handlers.close(group);
    const button = svg(
      "g",
      { class: "cluster-title", tabindex: 0, role: "button", "aria-label": `close ${label}`, click: close, keydown: onEnter(close) },
      svg("rect", { x: x + 10, y: y - 9, width: 7 * Math.min(label.length, 40) + 26, height: 17, rx: 4 }),
      svg("text", { x: x + 16, y: y + 4 }, `▾ ${shortened(label, 40)}`),
    );
    return svg(
      "g",
      { class: `cluster ${kind}`, "data-cluster": group },
      svg("rect", { class: "outline", x, y, width: spot.width, height: spot.height, rx: 10 }),
      button,
    );
  }

  private line(id: string, line: Line, widest: number): SVGPathElement {
    const points = this.routes.get(id)!;
    const path = svg("path", { class: "line", d: curve(points), "data-line": id });
    if (line.cut) path.classList.add("broken");
    else if (line.norm === undefined) path.classList.add("idle");
    else if (line.norm === 0) path.classList.add("zero");
    else if (!Number.isFinite(line.norm)) path.classList.add("bad");
    if (line.norm) {
      const decades = Math.log10(usable(line.norm) / widest);
      path.style.strokeWidth = String(Math.max(1.2, 4.5 + decades));
    }
    const text = line.cut ? `no gradient passes: ${line.cut}` : line.norm === undefined ? "no gradient" : Number.isNaN(line.norm) ? "a gradient that is not finite" : `gradient of norm ${brief(line.norm)}`;
    path.append(svg("title", {}, text));
    this.paths.set(id, path);
    return path;
  }

  private box(box: Box, look: Look): SVGGElement {
    const spot = this.placed.get(box.id)!;
    const [x, y] = [spot.x - spot.width / 2, spot.y - spot.height / 2];
    const group = svg("g", { class: "box", transform: `translate(${x} ${y})`, tabindex: 0, role: "button" });
    this.elements.set(box.id, group);
    if (box.node < 0) this.closedGroup(group, box, spot);
    else this.node(group, box.node, spot, look);
    return group;
  }

  private closedGroup(group: SVGGElement, box: Box, spot: Placed): void {
    const { label, kind } = this.tape.groups[box.group]!;
    const open = () => this.handlers.open(box.group);
    const count = `${this.folding.sizes[box.group]!.toLocaleString("en")} operations`;
    group.classList.add("closed", kind);
    group.setAttribute("data-group", String(box.group));
    group.setAttribute("aria-label", `open ${label}, ${count}`);
    group.addEventListener("click", open);
    group.addEventListener("keydown", onEnter(open));
    const marks = new Set(box.members.flatMap((i) => this.tape.nodes[i]!.marks ?? []).map((mark) => mark.kind));
    group.append(
      svg("rect", { class: "shadow", x: 4, y: 4, width: spot.width, height: spot.height, rx: 7 }),
      svg("rect", { class: "body", width: spot.width, height: spot.height, rx: 7 }),
      svg("text", { x: 12, y: 21, class: "title" }, `▸ ${shortened(label, 21)}`),
      svg("text", { x: 12, y: 40, class: "small" }, count === label ? names(this.tape, box.members) : count),
    );
    if (marks.size) group.append(badge(spot.width, [...marks].map((kind) => ICONS[kind]).join(" ")));
    if (box.members.some((i) => this.tape.nodes[i]!.kind === "cut")) group.classList.add("has-cut");
  }

  private node(group: SVGGElement, number: number, spot: Placed, look: Look): void {
    const node = this.tape.nodes[number]!;
    const choose = () => this.handlers.choose(number);
    const [title, below] = texts(node);
    group.classList.add(node.kind);
    group.setAttribute("data-node", String(number));
    group.setAttribute("aria-label", `${title} ${below}${node.marks ? `, ${node.marks.map((m) => m.text).join(", ")}` : ""}`);
    group.addEventListener("click", choose);
    group.addEventListener("keydown", onEnter(choose));
    group.append(
      svg("rect", { class: "body", width: spot.width, height: spot.height, rx: node.kind === "source" ? spot.height / 2 : 7 }),
      svg("text", { x: 12, y: node.kind === "constant" ? 17 : 21, class: "title" }, title),
      svg("text", { x: 12, y: node.kind === "constant" ? 32 : 39, class: "small" }, below),
    );
    let right = spot.width - 8;
    const kinds = node.kind === "constant" ? ["value"] : ["gradient", "value"]; // from the right
    pictures(node).forEach((picture, i) => {
      if (picture) right -= THUMB;
      if (picture) group.append(thumb(picture, right, (spot.height - THUMB) / 2, kinds[i]!, look.dark));
      if (picture) right -= 6;
    });
    if (node.marks?.length) group.append(badge(spot.width, node.marks.map((mark) => ICONS[mark.kind]).join(" ")));
    else if (node.reason || node.kind === "cut") group.append(badge(spot.width, "✕"));
    const lines = [node.at ? `line ${node.at[1]}` : "", ...(node.marks ?? []).map((mark) => mark.text), node.reason?.words ?? ""];
    group.append(svg("title", {}, [`${title} ${below}`, ...lines].filter(Boolean).join("\n")));
  }

  // -- the state -------------------------------------------------------------------------------------------------------

  /** Show what is selected, and how far the sweep has come, without a new layout. */
  update(look: Look): void {
    const stepping = look.step >= 0;
    const current = stepping ? this.tape.steps[look.step - 1]?.node : undefined;
    const reached = new Set<string>();
    if (stepping) {
      for (const [node] of this.tape.targets) this.mark(reached, node);
      for (const step of this.tape.steps.slice(0, look.step)) {
        for (const part of step.parts) {
          const input = this.tape.nodes[step.node]!.inputs[part.input];
          if (input && !part.none) this.mark(reached, input[0]);
        }
        this.mark(reached, step.node);
      }
    }
    for (const [id, element] of this.elements) {
      const box = this.visible.boxes.get(id)!;
      element.classList.toggle("selected", box.members.includes(look.selected) && box.node >= 0);
      element.classList.toggle("around", box.members.includes(look.selected) && box.node < 0);
      element.classList.toggle("lit", box.members.some((node) => look.lit.has(node)));
      element.classList.toggle("current", current !== undefined && box.members.includes(current));
      element.classList.toggle("later", stepping && !reached.has(id));
    }
    for (const [id, path] of this.paths) {
      const { steps } = this.visible.lines.get(id)!;
      path.classList.toggle("flowing", stepping && steps.includes(look.step - 1));
      path.classList.toggle("later", stepping && !steps.some((step) => step < look.step));
    }
  }

  private mark(reached: Set<string>, node: number): void {
    const id = this.visible.boxOf(node);
    if (id !== undefined) reached.add(id);
  }

  /** Scroll to the box of a node. */
  scrollTo(node: number): void {
    const id = this.visible.boxOf(node);
    const spot = id === undefined ? undefined : this.placed.get(id);
    if (!spot) return;
    const [x, y] = [spot.x * this.zoom, spot.y * this.zoom];
    const [w, h] = [(spot.width / 2) * this.zoom, (spot.height / 2) * this.zoom];
    const { area } = this;
    const inside =
      x - w > area.scrollLeft && x + w < area.scrollLeft + area.clientWidth && y - h > area.scrollTop && y + h < area.scrollTop + area.clientHeight;
    if (!inside) area.scrollTo({ left: x - area.clientWidth / 2, top: y - area.clientHeight / 2 });
  }

  /** Scroll to where the computation begins. */
  scrollToTop(): void {
    const first = [...this.visible.boxes.values()].find((box) => box.node < 0 || this.tape.nodes[box.node]!.op);
    const spot = first && this.placed.get(first.id);
    if (spot) this.area.scrollTo({ left: spot.x * this.zoom - this.area.clientWidth / 2, top: spot.y * this.zoom - 180 });
  }

  focusOn(node: number): void {
    const id = this.visible.boxOf(node);
    if (id !== undefined) this.elements.get(id)?.focus({ preventScroll: true });
  }

  setZoom(zoom: number): void {
    this.zoom = Math.min(3, Math.max(0.15, zoom));
    this.root.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    this.root.setAttribute("width", String(this.width * this.zoom));
    this.root.setAttribute("height", String(this.height * this.zoom));
  }

  /** Make the graph as wide as its area, if it stays readable, and as high if asked for. */
  fit(least = 0.6, whole = false): void {
    const { area } = this;
    const high = whole ? (area.clientHeight - 8) / this.height : Infinity;
    this.setZoom(Math.max(least, Math.min(1.1, (area.clientWidth - 20) / this.width, high)));
  }
}

const ruler = document.createElement("canvas").getContext("2d");

function textWidth(text: string, font: string): number {
  if (!ruler) return 8 * text.length;
  ruler.font = font;
  return ruler.measureText(text).width;
}

// -- pieces ------------------------------------------------------------------------------------------------------------

function onEnter(action: () => void): (event: Event) => void {
  return (event) => {
    const { key } = event as KeyboardEvent;
    if (key === "Enter" || key === " ") {
      event.preventDefault();
      event.stopPropagation();
      action();
    }
  };
}

/** The title of a box, and the line below it. */
export function texts(node: Node): [string, string] {
  const out = node.outs[0];
  const value = out?.value;
  const name = shortName(out?.name ?? "", 24);
  const shown = value && isScalar(value) ? scalarText(value) : "";
  const shape = value ? shapeText(value) : "";
  if (!node.op) {
    const title = name || (node.kind === "constant" ? "constant" : "source");
    return [title, shown ? `= ${shortened(shown, 24)}` : shape];
  }
  const below = [name, shown ? `= ${shortened(shown, 24)}` : shape].filter(Boolean).join(" ");
  return [shortened(node.op, 28), node.outs.length > 1 ? `${node.outs.length} results` : below];
}

/** The pictures beside the texts, from the right: gradient, and value. A scalar is a text already. */
function pictures(node: Node): (Picture | null)[] {
  const out = node.outs[0];
  const shown = (picture: Picture | null | undefined) =>
    picture && sizeOf(picture) > 1 && (picture.heat || picture.histogram || picture.values) ? picture : null;
  return node.kind === "constant" ? [shown(out?.value)] : [shown(out?.gradient), shown(out?.value)];
}

function thumb(picture: Picture, x: number, y: number, kind: string, dark: boolean): SVGGElement {
  const { rows, columns } = picture.heat ?? { rows: 1, columns: 1 };
  return svg(
    "g",
    { class: `thumb ${kind}` },
    svg("title", {}, kind),
    svg("image", { href: thumbnail(picture, dark), x, y, width: THUMB, height: THUMB, preserveAspectRatio: "none", "data-size": `${rows}x${columns}` }),
    svg("rect", { x, y, width: THUMB, height: THUMB }),
  );
}

function badge(width: number, text: string): SVGGElement {
  const wide = 12 + 8 * text.length;
  return svg(
    "g",
    { class: "badge", transform: `translate(${width - wide + 6} -9)` },
    svg("rect", { width: wide, height: 18, rx: 9 }),
    svg("text", { x: wide / 2, y: 13, "text-anchor": "middle" }, text),
  );
}

function names(tape: Tape, members: number[]): string {
  const ops = [...new Set(members.map((i) => tape.nodes[i]!.op).filter(Boolean))];
  return shortened(ops.join(", "), 27);
}

function usable(norm: number | undefined): number {
  return norm !== undefined && Number.isFinite(norm) && norm > 0 ? norm : 1e-30;
}

/** A smooth curve through points. */
function curve(points: Point[]): string {
  const first = points[0]!;
  let path = `M${first.x} ${first.y}`;
  for (let i = 1; i < points.length - 1; i++) {
    const [here, next] = [points[i]!, points[i + 1]!];
    path += `Q${here.x} ${here.y} ${i < points.length - 2 ? `${(here.x + next.x) / 2} ${(here.y + next.y) / 2}` : `${next.x} ${next.y}`}`;
  }
  if (points.length === 2) path += `L${points[1]!.x} ${points[1]!.y}`;
  return path;
}

function markers(): SVGDefsElement {
  const arrow = (id: string) =>
    svg(
      "marker",
      { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse", markerUnits: "userSpaceOnUse" },
      svg("path", { d: "M0 0 8 4 0 8z" }),
    );
  return svg("defs", {}, arrow("arrow"), arrow("arrow-back"), arrow("arrow-broken"));
}
