// The panel on the right: an overview of the tape, one operation, or one step of the sweep.

import type { Jacobian, Node, Part, Picture, Recording, Rule, Step, Tape } from "./data";
import { el } from "./dom";
import { texts } from "./graph";
import { brief, heatMap, indexText, isScalar, legend, scalarText, shapeText, sizeOf, valueView } from "./values";

export interface Actions {
  choose: (node: number) => void;
}

function link(node: Node, number: number, actions: Actions): HTMLElement {
  const [title, below] = texts(node);
  return el("button", { class: "link", type: "button", "data-to": number, click: () => actions.choose(number) }, `${title} ${below}`.trim());
}

function ruleView(node: Node, tape: Tape): HTMLElement | null {
  const rule: Rule | undefined = node.rule === undefined ? undefined : tape.rules[node.rule];
  if (!rule) return null;
  const view = el("div", { class: "rule" }, el("h4", {}, "Rule"));
  if (rule.formula) view.append(el("p", { class: "formula" }, rule.formula));
  view.append(el("p", {}, rule.words));
  const widened = broadcastNote(node, tape);
  if (widened) view.append(el("p", {}, widened));
  if (rule.code) {
    const list = el("dl");
    for (const [input, code] of Object.entries(rule.code)) list.append(el("dt", {}, input), el("dd", {}, el("code", {}, code)));
    view.append(el("details", {}, el("summary", {}, "in code, g being the gradient that arrives"), list));
  }
  return view;
}

/** A note for inputs that were broadcast: their gradients are summed. */
function broadcastNote(node: Node, tape: Tape): string {
  const out = node.outs[0]?.value;
  const rule = node.rule === undefined ? undefined : tape.rules[node.rule];
  if (!out || node.inputs.length < 2 || !rule?.formula || node.op === "matmul") return "";
  const smaller = node.inputs
    .map(([source]) => tape.nodes[source]!)
    .filter((source) => source.kind !== "constant" && source.outs[0]?.value && sizeOf(source.outs[0].value) < sizeOf(out));
  const first = smaller[0];
  if (!first) return "";
  const name = first.outs[0]!.name ?? first.op;
  return `${name} ${shapeText(first.outs[0]!.value!)} was broadcast to ${shapeText(out)}: its gradient is summed over the copies.`;
}

function place(node: Node, recording: Recording): HTMLElement | null {
  if (!node.at) return null;
  const [file, line, func] = node.at;
  const known = recording.files[file];
  const text = known?.lines[line - known.first]?.trim() ?? "";
  const where = `line ${line}${func === "<module>" ? "" : ` in ${func}`}`;
  return el("p", { class: "place" }, el("span", {}, where), text && el("code", {}, text));
}

function marksView(node: Node): HTMLElement[] {
  const found = (node.marks ?? []).map((mark) =>
    el("div", { class: "alert", role: "note" }, el("strong", {}, `⚠ ${mark.text}`), mark.hint ? el("p", {}, mark.hint) : null),
  );
  if (node.reason) {
    found.push(el("div", { class: "alert cut", role: "note" }, el("strong", {}, `✕ ${node.reason.words}`), el("p", {}, node.reason.hint)));
  } else {
    const cuts = [...new Set(node.inputs.flatMap((input) => (input[2] ? [input[2]] : [])))];
    for (const cut of cuts) found.push(el("div", { class: "alert cut", role: "note" }, el("strong", {}, `✕ no gradient passes: ${cut}`)));
  }
  return found;
}

// -- an operation ------------------------------------------------------------------------------------------------------

export function nodeView(number: number, tape: Tape, recording: Recording, actions: Actions): HTMLElement {
  const node = tape.nodes[number]!;
  const [title, below] = texts(node);
  const view = el("div", { class: "details", "data-details": number }, el("h2", {}, title, " ", el("small", {}, below)));
  if (node.layer) view.append(el("p", { class: "muted" }, `layer ${node.layer}`));
  if (!node.op) view.append(el("p", { class: "muted" }, kindOf(node)));
  const where = place(node, recording);
  if (where) view.append(where);
  view.append(...marksView(node));
  const report = tape.sources.find((source) => source.node === number && !source.connected);
  if (report) {
    view.append(el("div", { class: "alert cut" }, el("strong", {}, `✕ ${report.certain ? "" : "probably "}${report.words}`), el("p", {}, report.hint)));
  }
  node.outs.forEach((out, i) => {
    const pair = el("div", { class: "pair beside" });
    const suffix = node.outs.length > 1 ? ` ${i}` : "";
    pair.append(valueView(`Value${suffix}`, out.value, "the tape did not keep it"));
    if (node.kind !== "constant") pair.append(valueView(`Gradient${suffix}`, out.gradient, "none: no gradient arrives here"));
    view.append(pair);
  });
  view.append(legend());
  const rule = ruleView(node, tape);
  if (rule) view.append(rule);
  if (node.inputs.length) view.append(inputsView(node, number, tape, actions));
  const uses = usesView(number, tape, actions);
  if (uses) view.append(uses);
  if (node.inside) view.append(insideView(node));
  return view;
}

function kindOf(node: Node): string {
  if (node.kind === "constant") return "a constant: the tape does not watch it";
  return node.watched ? "watched by the tape" : "not watched by the tape";
}

function inputsView(node: Node, number: number, tape: Tape, actions: Actions): HTMLElement {
  const step = tape.steps.find((one) => one.node === number);
  const list = el("ul", { class: "inputs" });
  node.inputs.forEach((input, i) => {
    const part = step?.parts.find((one) => one.input === i);
    const sent = part && !part.none ? (part.part ?? tape.nodes[input[0]]!.outs[input[1]]?.gradient) : undefined;
    list.append(
      el("li", {}, link(tape.nodes[input[0]]!, input[0], actions), input[2] ? el("span", { class: "cutnote" }, ` ✕ ${input[2]}`) : sent ? el("span", { class: "muted" }, ` gets ${short(sent)}`) : null),
    );
  });
  return el("div", {}, el("h4", {}, "Inputs, and what gradient they get"), list);
}

function short(picture: Picture): string {
  if (isScalar(picture)) return scalarText(picture);
  const bad = [picture.nan ? `${picture.nan} NaN` : "", picture.inf ? `${picture.inf} infinite` : ""].filter(Boolean).join(", ");
  return `${shapeText(picture)}${bad ? `, ⚠ ${bad}` : picture.norm === undefined ? "" : ` of norm ${brief(picture.norm)}`}`;
}

/** How the contributions to a gradient add up, where a value is used more than once. */
function usesView(number: number, tape: Tape, actions: Actions): HTMLElement | null {
  const parts = contributions(number, tape);
  if (parts.length < 2) return null;
  const body = el("tbody");
  for (const { step, part } of parts) {
    body.append(
      el("tr", {}, el("td", {}, link(tape.nodes[step.node]!, step.node, actions)), el("td", {}, part.part ? short(part.part) : ""), el("td", {}, part.sum ? short(part.sum) : "")),
    );
  }
  const head = el("thead", {}, el("tr", {}, el("th", {}, "from"), el("th", {}, "contribution"), el("th", {}, "sum so far")));
  return el("div", { class: "contributions" }, el("h4", {}, `Used ${parts.length} times: the contributions add up`), el("div", { class: "scroll" }, el("table", {}, head, body)));
}

function contributions(number: number, tape: Tape, out = 0): { step: Step; part: Part; index: number }[] {
  const found: { step: Step; part: Part; index: number }[] = [];
  tape.steps.forEach((step, index) => {
    for (const part of step.parts) {
      const input = tape.nodes[step.node]!.inputs[part.input];
      if (input && input[0] === number && input[1] === out && !part.none) found.push({ step, part, index });
    }
  });
  return found;
}

function insideView(node: Node): HTMLElement {
  const { operations, note } = node.inside!;
  const body = el("tbody");
  operations.forEach((op, i) => {
    const given = op.inputs.map((input) => `%${input}`).join(", ");
    body.append(
      el("tr", {}, el("td", {}, `%${i}`), el("td", {}, op.op), el("td", {}, op.shape.map((s) => `[${s.join(", ")}]`).join(" ")), el("td", {}, given)),
    );
  });
  const head = el("thead", {}, el("tr", {}, ...["", "operation", "shape", "of"].map((title) => el("th", {}, title))));
  return el("div", { class: "inside" }, el("h4", {}, `Inside ${node.inside!.name}`), el("p", {}, note), el("div", { class: "scroll tall" }, el("table", {}, head, body)));
}

// -- a step of the sweep -----------------------------------------------------------------------------------------------

export function stepView(position: number, tape: Tape, recording: Recording, actions: Actions): HTMLElement {
  const view = el("div", { class: "details step", "data-step": position });
  if (position === 0) {
    view.append(
      el("h2", {}, "The sweep begins"),
      el("p", {}, `It starts at the target, ${tape.target}: its gradient by itself is 1, for each element. Each step then goes back through one operation, the last one first.`),
    );
    for (const [node, out] of tape.targets) {
      view.append(valueView(`Gradient of ${tape.nodes[node]!.outs[out]?.name ?? "the target"}`, tape.nodes[node]!.outs[out]?.gradient, "none"));
    }
    return view;
  }
  const step = tape.steps[position - 1]!;
  const node = tape.nodes[step.node]!;
  const [title, below] = texts(node);
  view.append(el("h2", {}, `Step ${position}: back through ${title}`, " ", el("small", {}, below)));
  const where = place(node, recording);
  if (where) view.append(where);
  view.append(...marksView(node));
  const rule = ruleView(node, tape);
  if (rule) view.append(rule);
  view.append(el("h3", {}, "Comes in"));
  node.outs.forEach((out, i) => {
    view.append(valueView(`g: the gradient of ${out.name ?? `the result${node.outs.length > 1 ? ` ${i}` : ""}`}`, out.gradient, "0: nothing arrives", `in${i}`));
  });
  view.append(el("h3", {}, "Goes out"));
  for (const part of step.parts) view.append(partView(step, part, position, tape, actions));
  const kept = node.inputs.filter((input) => tape.nodes[input[0]]!.kind !== "constant" || tape.nodes[input[0]]!.outs[0]?.value);
  if (kept.length) {
    view.append(el("h3", {}, "The values at hand"));
    const row = el("div", { class: "pair" });
    for (const [source, out] of kept) {
      const from = tape.nodes[source]!;
      row.append(valueView(from.outs[out]?.name ?? (from.op || "constant"), from.outs[out]?.value, "the tape did not keep it", "at-hand"));
    }
    view.append(row);
  }
  return view;
}

function partView(step: Step, part: Part, position: number, tape: Tape, actions: Actions): HTMLElement {
  const [source, out] = tape.nodes[step.node]!.inputs[part.input]!;
  const node = tape.nodes[source]!;
  const name = node.outs[out]?.name ?? (node.op || "the source");
  const view = el("div", { class: "part" }, el("p", {}, "to ", link(node, source, actions)));
  if (part.none) {
    view.append(el("p", { class: "cutnote" }, "nothing: the gradient function returned None"));
    return view;
  }
  if (!part.sum) {
    view.append(valueView(`gradient of ${name}`, node.outs[out]?.gradient, "none", `out${part.input}`));
    return view;
  }
  const all = contributions(source, tape, out);
  const done = all.filter(({ index }) => index < position - 1).length + all.filter(({ part: one, index }) => index === position - 1 && one.input <= part.input).length;
  const pair = el("div", { class: "pair" }, valueView("this contribution", part.part, "none", `out${part.input}`));
  pair.append(valueView(done === all.length ? "added up: the gradient" : "sum so far", part.sum, "none", `sum${part.input}`));
  view.append(pair);
  if (all.length > 1) view.append(el("p", { class: "muted" }, `${name} is used ${all.length} times: contribution ${done} of ${all.length}.`));
  return view;
}

// -- the overview ------------------------------------------------------------------------------------------------------

export function overview(tape: Tape, recording: Recording, actions: Actions): HTMLElement {
  const operations = tape.nodes.filter((node) => node.op).length;
  const view = el("div", { class: "details overview" }, el("h2", {}, `Gradient of ${tape.target}`));
  view.append(el("p", {}, `${operations.toLocaleString("en")} operations, ${tape.steps.length.toLocaleString("en")} steps in the sweep. Choose an operation or a line, or step through the sweep: → goes on, ← back, ? lists all keys and signs.`));
  const marked = tape.nodes.flatMap((node, i) => (node.marks ?? []).map((mark) => ({ mark, i, node })));
  for (const { mark, i, node } of marked.slice(0, 20)) {
    view.append(el("div", { class: "alert" }, el("strong", {}, `⚠ ${mark.text} `), link(node, i, actions), mark.hint ? el("p", {}, mark.hint) : null));
  }
  if (marked.length > 20) view.append(el("p", {}, `and ${marked.length - 20} more`));
  for (const jacobian of tape.jacobians) view.append(jacobianView(jacobian));
  const notes = [...recording.notes, ...tape.notes];
  if (notes.length) view.append(el("div", { class: "notes" }, el("h4", {}, "Left out"), ...notes.map((note) => el("p", {}, note))));
  return view;
}

export function sourcesView(tape: Tape, actions: Actions): HTMLElement {
  const list = el("ul", { class: "sources" });
  tape.sources.forEach((source, i) => {
    const gradient = tape.nodes[source.node]!.outs[0]?.gradient;
    const name = source.source;
    const text = source.connected ? (gradient ? short(gradient) : "") : `None: ${source.certain ? "" : "probably "}${source.words}`;
    const act = () => actions.choose(source.cut ?? source.node);
    list.append(
      el("li", {}, el("button", { class: source.connected ? "source" : "source broken", type: "button", "data-source": i, title: source.hint, click: act },
        el("strong", {}, source.connected ? name : `✕ ${name}`), el("span", {}, text))),
    );
  });
  return list;
}

function jacobianView(jacobian: Jacobian): HTMLElement {
  const { heat } = jacobian.picture;
  const [target, source] = jacobian.shape;
  const labels = {
    rows: Array.from({ length: heat.rows }, (_, i) => `${jacobian.target}${indexText(i, target)}`),
    columns: Array.from({ length: heat.columns }, (_, i) => `${jacobian.source}${indexText(i, source)}`),
  };
  return el(
    "div",
    { class: "jacobian", "data-jacobian": jacobian.source },
    el("h4", {}, `Jacobian: each element of ${jacobian.target} by each of ${jacobian.source}`),
    el("div", { class: "scroll" }, heatMap(heat, 260, labels)),
    legend(),
  );
}
