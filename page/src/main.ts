// The page: its state, its parts, and what keys and buttons do.

import { load, type Tape } from "./data";
import { nodeView, overview, sourcesView, stepView } from "./details";
import { el } from "./dom";
import { Folding } from "./fold";
import { GraphView, type Look } from "./graph";
import { SourceView } from "./source";
import { isScalar, scalarText } from "./values";

const recording = load();
document.title = `${recording.title} · gradtape`;

const page = document.getElementById("page")!;
const tapes = el("nav", { class: "tapes", "aria-label": "tapes" });
const gradients = el("section", { class: "gradients", "aria-label": "gradients" });
const source = el("section", { class: "source-panel", "aria-label": "source" });
const area = el("div", { class: "area", tabindex: -1 });
const details = el("section", { class: "details-panel", "aria-label": "details", "aria-live": "polite", tabindex: -1 });
const layers = el("div", { class: "layers", role: "group", "aria-label": "layers" });
const label = el("output", { class: "step-label" });
const slider = el("input", { type: "range", min: -1, "aria-label": "step of the sweep", input: () => go(Number(slider.value)) });
const help = helpDialog();

let tape: Tape;
let folding: Folding;
let graph: GraphView;
let code: SourceView;
const look: Look = { dark: false, selected: -1, lit: new Set(), step: -1, layer: null, constants: true };

function button(text: string, title: string, action: () => void, name = ""): HTMLButtonElement {
  return el("button", { type: "button", title, "aria-label": title, "data-button": name || title, click: action }, text);
}

function build(): void {
  const constants = el("input", { type: "checkbox", id: "constants", change: () => setConstants(constants.checked) });
  const theme = button("◐", "light or dark", () => setDark(!look.dark), "theme");
  page.append(
    el("header", {},
      el("h1", {}, el("span", { class: "brand" }, "gradtape"), " ", recording.title),
      el("div", { class: "sweep", role: "group", "aria-label": "sweep" },
        button("|◀", "before the sweep (Home)", () => go(0), "first"),
        button("◀", "one step back (←)", () => move(-1), "back"),
        slider,
        button("▶", "one step on (→)", () => move(1), "forward"),
        button("▶|", "to the end (End)", () => go(tape.steps.length), "last"),
        label,
      ),
      el("div", { class: "tools" },
        layers,
        el("label", { class: "check", for: "constants" }, constants, "constants"),
        button("−", "smaller (-)", () => graph.setZoom(graph.zoom / 1.25), "smaller"),
        button("+", "larger (+)", () => graph.setZoom(graph.zoom * 1.25), "larger"),
        button("⤢", "fit (f)", () => graph.fit(0.15, true), "fit"),
        theme,
        button("?", "keys (?)", showHelp, "help"),
      ),
    ),
    el("main", {}, el("div", { class: "left" }, tapes, gradients, source), el("div", { class: "middle" }, area), details),
    tabs(),
    help,
  );
  recording.tapes.forEach((one, i) => {
    const where = one.where ? `line ${one.where[1]}` : "";
    const value = one.targets.length === 1 ? one.nodes[one.targets[0]![0]]!.outs[one.targets[0]![1]]?.value : null;
    const target = value && isScalar(value) ? `${one.target} = ${scalarText(value)}` : one.target;
    tapes.append(el("button", { type: "button", "data-tape": i, click: () => choose(i) },
      el("strong", {}, one.label), el("span", {}, `${target} ${where}`)));
  });
  tapes.hidden = recording.tapes.length < 2;
  document.addEventListener("keydown", onKey);
  area.addEventListener("wheel", onWheel, { passive: false });
  const wanted = matchMedia("(prefers-color-scheme: dark)");
  wanted.addEventListener("change", () => setDark(wanted.matches));
  setDark(wanted.matches, false);
  choose(0);
  constants.checked = look.constants;
}

const WITHOUT_LINES = "The lines of operations are not known. They are where show is called in the same function, script or cell as the tape's block (for its first ten blocks), under tf.debugging.trace_origins(values=True), and with gradtape run --view.";

/** Show a tape. */
function choose(number: number): void {
  tape = recording.tapes[number]!;
  folding = new Folding(tape);
  Object.assign(look, { selected: -1, lit: new Set(), step: -1, layer: null, constants: tape.nodes.length <= 90 });
  tapes.querySelectorAll("button").forEach((one, i) => one.setAttribute("aria-current", String(i === number)));
  const actions = { choose: reveal };
  gradients.replaceChildren(el("h2", {}, `Gradient of ${tape.target} by`), sourcesView(tape, actions));
  code = new SourceView(recording, tape, lightLine);
  const known = tape.nodes.some((node) => node.at);
  source.replaceChildren(el("h2", {}, "Source"), code.root);
  if (!known) source.insertBefore(el("p", { class: "muted" }, WITHOUT_LINES), code.root);
  graph = new GraphView(area, tape, folding, { choose: select, open: openGroup, close: closeGroup });
  slider.max = String(tape.steps.length);
  layers.replaceChildren();
  if (tape.layers.length > 1) {
    const names: [string, string | null][] = [["all", null], ...tape.layers.map((one): [string, string | null] => [one || "computation", one])];
    for (const [name, layer] of names) layers.append(button(name, `show ${name}`, () => setLayer(layer), `layer ${name}`));
  }
  graph.draw(look);
  graph.fit();
  graph.scrollToTop();
  code.begin();
  show();
}

// -- actions -----------------------------------------------------------------------------------------------------------

function select(node: number): void {
  look.selected = look.selected === node && look.step < 0 ? -1 : node;
  look.step = -1;
  look.lit = new Set();
  show();
  showTab("details");
}

/** Select a node, and open the groups around it. */
function reveal(node: number): void {
  const kind = tape.nodes[node]!.kind;
  const hidden = (kind === "constant" && !look.constants) || (look.layer !== null && tape.nodes[node]!.op && (tape.nodes[node]!.sweep ?? "") !== look.layer);
  if (hidden) Object.assign(look, { constants: true, layer: null });
  if (folding.reveal(node) || hidden) graph.draw(look);
  look.selected = node;
  look.step = -1;
  look.lit = new Set();
  show();
  graph.scrollTo(node);
}

function lightLine(nodes: number[]): void {
  const changed = nodes.slice(0, 40).map((node) => folding.reveal(node)).includes(true);
  look.selected = nodes.at(-1)!;
  look.step = -1;
  look.lit = new Set(nodes);
  if (changed) graph.draw(look);
  show();
  graph.scrollTo(nodes[0]!);
  showTab("graph");
}

function openGroup(group: number): void {
  folding.open.add(group);
  redraw(group);
}

function closeGroup(group: number): void {
  folding.close(group);
  redraw(group);
}

function redraw(group: number): void {
  graph.draw(look);
  const first = folding.home.findIndex((one) => folding.around(one).includes(group));
  graph.scrollTo(first);
  graph.focusOn(first);
}

function go(step: number): void {
  look.step = Math.max(-1, Math.min(tape.steps.length, step));
  look.lit = new Set();
  look.selected = -1;
  show();
  const node = look.step > 0 ? tape.steps[look.step - 1]!.node : (tape.targets[0]?.[0] ?? 0);
  if (look.step >= 0) graph.scrollTo(node);
}

function move(by: number): void {
  go(look.step + by);
}

function setLayer(layer: string | null): void {
  look.layer = layer;
  graph.draw(look);
  graph.fit();
  show();
}

function setConstants(shown: boolean): void {
  look.constants = shown;
  graph.draw(look);
}

function setDark(dark: boolean, redraws = true): void {
  look.dark = dark;
  document.documentElement.dataset["theme"] = dark ? "dark" : "light";
  if (redraws) graph.draw(look);
}

/** Bring all parts up to the state. */
function show(): void {
  const actions = { choose: reveal };
  slider.value = String(look.step);
  label.value = look.step < 0 ? `${tape.steps.length.toLocaleString("en")} steps` : `step ${look.step.toLocaleString("en")} of ${tape.steps.length.toLocaleString("en")}`;
  layers.querySelectorAll("button").forEach((one) => {
    one.setAttribute("aria-pressed", String(one.dataset["button"] === `layer ${look.layer === null ? "all" : look.layer || "computation"}`));
  });
  const constants = document.getElementById("constants") as HTMLInputElement | null;
  if (constants) constants.checked = look.constants;
  graph.update(look);
  if (look.step >= 0) details.replaceChildren(stepView(look.step, tape, recording, actions));
  else if (look.selected >= 0) details.replaceChildren(nodeView(look.selected, tape, recording, actions));
  else details.replaceChildren(overview(tape, recording, actions));
  details.scrollTop = 0;
  const current = look.step > 0 ? tape.steps[look.step - 1]!.node : look.selected;
  code.light(current >= 0 ? [tape.nodes[current]!.at] : []);
}

// -- keys, wheel, small screens ----------------------------------------------------------------------------------------

function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (event.target === slider && event.key.startsWith("Arrow")) return;
  const keys: Record<string, () => void> = {
    ArrowRight: () => move(1),
    ArrowLeft: () => move(-1),
    n: () => move(1),
    p: () => move(-1),
    Home: () => go(0),
    End: () => go(tape.steps.length),
    Escape: () => go(-1),
    "+": () => graph.setZoom(graph.zoom * 1.25),
    "-": () => graph.setZoom(graph.zoom / 1.25),
    f: () => graph.fit(0.15, true),
    d: () => setDark(!look.dark),
    "?": showHelp,
  };
  const action = keys[event.key];
  if (action) {
    event.preventDefault();
    action();
  }
}

function onWheel(event: WheelEvent): void {
  if (!event.ctrlKey) return;
  event.preventDefault();
  graph.setZoom(graph.zoom * (event.deltaY < 0 ? 1.1 : 1 / 1.1));
}

function tabs(): HTMLElement {
  const bar = el("nav", { class: "tabs", "aria-label": "parts" });
  for (const name of ["source", "graph", "details"]) {
    bar.append(el("button", { type: "button", "data-tab": name, click: () => showTab(name) }, name[0]!.toUpperCase() + name.slice(1)));
  }
  document.documentElement.dataset["tab"] = "graph";
  return bar;
}

function showTab(name: string): void {
  document.documentElement.dataset["tab"] = name;
}

function showHelp(): void {
  help.showModal();
  help.querySelector<HTMLElement>("h2")!.focus(); // not the button at the end, which small screens would scroll to
}

function helpDialog(): HTMLDialogElement {
  const keys: [string, string][] = [
    ["→ or n", "one step of the sweep on"],
    ["← or p", "one step back"],
    ["Home, End", "to the beginning, to the end of the sweep"],
    ["Escape", "leave the sweep; back to the overview"],
    ["Tab, Enter", "go to an operation, a group or a line, and choose it"],
    ["+, −, f", "larger, smaller, fit"],
    ["d", "light or dark"],
  ];
  const list = el("dl");
  for (const [key, text] of keys) list.append(el("dt", {}, key), el("dd", {}, text));
  const marks = el("ul", {},
    el("li", {}, "The wider a line, the larger the gradient that goes back along it; dotted: it is 0; dashed red with ✕: none passes."),
    el("li", {}, "Blue is negative, orange positive, the paler the nearer to 0; black (in the dark: white) is NaN or infinite."),
    el("li", {}, "NaN, ∞: not finite from here on; ▲ explodes, ▼ vanishes."),
    el("li", {}, "Two small pictures in a box: the value, and after it, framed, its gradient."),
    el("li", {}, "A box with a shadow is a group: choose it to open it."));
  const dialog = el("dialog", { "aria-label": "keys" }, el("h2", { tabindex: -1 }, "Keys"), list, el("h2", {}, "Signs"), marks,
    el("form", { method: "dialog" }, el("button", {}, "Close")),
    el("p", { class: "muted" }, `Made by gradtape ${recording.gradtape}. All data is in this file; nothing is sent or loaded.`));
  return dialog;
}

build();
