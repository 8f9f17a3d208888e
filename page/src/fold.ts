// What of a tape is visible: operations, and closed groups in place of what is in them.

import type { Tape } from "./data";

/** A box of the graph: a node of the tape, or a closed group. */
export interface Box {
  id: string;
  node: number; // -1 for a group
  group: number; // the group that it stands for, or -1
  parent: number; // the open group around it, or -1
  members: number[];
}

export interface Line {
  from: string;
  to: string;
  norm: number | undefined;
  cut: string | undefined;
  steps: number[]; // steps of the sweep that go back along it
}

export interface Visible {
  boxes: Map<string, Box>;
  lines: Map<string, Line>;
  boxOf: (node: number) => string | undefined;
}

/** Boxes that are shown at first, at most, and operations of what repeats. */
const ENOUGH = 50;
/** A source that feeds more boxes than this is drawn again beside each. */
const MANY = 4;

export class Folding {
  readonly open = new Set<number>();
  readonly parents: number[]; // of the groups
  readonly home: number[]; // group of each node, or -1
  readonly sizes: number[]; // operations in each group
  private readonly uses: Map<number, number[]>;

  constructor(readonly tape: Tape) {
    this.parents = tape.groups.map((group) => group.parent);
    this.uses = new Map();
    tape.nodes.forEach((node, i) => {
      for (const [from] of node.inputs) {
        const found = this.uses.get(from);
        if (found) found.push(i);
        else this.uses.set(from, [i]);
      }
    });
    this.home = tape.nodes.map((node) => node.group ?? -1);
    tape.nodes.forEach((node, i) => {
      if (!node.op) this.home[i] = this.common((this.uses.get(i) ?? []).map((use) => this.home[use]!));
    });
    this.sizes = tape.groups.map(() => 0);
    tape.nodes.forEach((node, i) => {
      if (node.op) for (const group of this.around(this.home[i]!)) this.sizes[group]!++;
    });
    this.openSome();
  }

  /** The groups around a group and itself, the innermost first. */
  around(group: number): number[] {
    const found: number[] = [];
    for (let at = group; at >= 0; at = this.parents[at]!) found.push(at);
    return found;
  }

  private common(groups: number[]): number {
    if (!groups.length) return -1;
    let shared = this.around(groups[0]!);
    for (const group of groups.slice(1)) {
      const others = new Set(this.around(group));
      shared = shared.filter((one) => others.has(one));
    }
    return shared[0] ?? -1;
  }

  /** Open groups, one level after the other, as long as the screen is not full. */
  private openSome(): void {
    const children = new Map<number, number>();
    const count = (parent: number) => children.set(parent, (children.get(parent) ?? 0) + 1);
    this.home.forEach(count);
    this.parents.forEach(count);
    const many = (group: number) => this.tape.groups[group]!.kind === "repeat" && this.sizes[group]! > ENOUGH;
    let shown = children.get(-1) ?? 0;
    for (let level = this.inside([-1]); level.length; level = this.inside(level)) {
      level = level.filter((group) => !many(group));
      for (const group of level) shown += (children.get(group) ?? 0) - 1;
      if (shown > ENOUGH) return;
      for (const group of level) this.open.add(group);
    }
  }

  private inside(groups: number[]): number[] {
    const around = new Set(groups);
    return this.parents.flatMap((parent, group) => (around.has(parent) ? [group] : []));
  }

  /** Open all groups around a node. */
  reveal(node: number): boolean {
    let changed = false;
    for (const group of this.around(this.home[node]!)) {
      if (!this.open.has(group)) {
        this.open.add(group);
        changed = true;
      }
    }
    return changed;
  }

  /** Close a group, and those inside it. */
  close(group: number): void {
    for (const one of [...this.open]) if (this.around(one).includes(group)) this.open.delete(one);
  }

  visible(isShown: (node: number) => boolean): Visible {
    const boxes = new Map<string, Box>();
    const at: (string | undefined)[] = [];
    this.tape.nodes.forEach((_, i) => {
      if (!isShown(i)) return;
      const around = this.around(this.home[i]!);
      const closed = around.reverse().find((group) => !this.open.has(group));
      const id = closed === undefined ? `n${i}` : `g${closed}`;
      at[i] = id;
      const box = boxes.get(id);
      if (box) box.members.push(i);
      else {
        const parent = closed === undefined ? this.home[i]! : this.parents[closed]!;
        boxes.set(id, { id, node: closed === undefined ? i : -1, group: closed ?? -1, parent, members: [i] });
      }
    });
    const lines = this.lines(at);
    this.copySources(boxes, lines);
    return { boxes, lines, boxOf: (node) => at[node] };
  }

  /** Draw a source that many boxes use again beside each operation, and not at closed groups. */
  private copySources(boxes: Map<string, Box>, lines: Map<string, Line>): void {
    const uses = new Map<string, string[]>();
    for (const [id, { from }] of lines) {
      const box = boxes.get(from)!;
      if (box.node >= 0 && !this.tape.nodes[box.node]!.op) uses.set(from, [...(uses.get(from) ?? []), id]);
    }
    for (const [from, ids] of uses) {
      if (ids.length <= MANY) continue;
      const source = boxes.get(from)!;
      for (const id of ids) {
        const line = lines.get(id)!;
        const user = boxes.get(line.to)!;
        lines.delete(id);
        if (user.node < 0) continue;
        const copy = { ...source, id: `${from}@${line.to}`, parent: user.parent };
        boxes.set(copy.id, copy);
        lines.set(`${copy.id} ${line.to}`, { ...line, from: copy.id });
      }
    }
  }

  private lines(at: (string | undefined)[]): Map<string, Line> {
    const lines = new Map<string, Line>();
    const stepOf = new Map(this.tape.steps.map((step, i) => [step.node, i]));
    this.tape.nodes.forEach((node, i) => {
      const to = at[i];
      if (to === undefined) return;
      node.inputs.forEach(([source, out, cut], position) => {
        const from = at[source];
        if (from === undefined || from === to) return;
        const step = stepOf.get(i);
        const part = step === undefined ? undefined : this.tape.steps[step]!.parts.find((p) => p.input === position);
        const given = this.tape.nodes[source]!.outs[out]?.gradient;
        const sent = part && !part.none ? (part.part ?? given) : undefined;
        const scalar = sent?.values?.length === 1 ? Math.abs(Number(sent.values[0])) : undefined;
        const norm = !sent ? undefined : sent.nan || sent.inf ? NaN : Number(sent.norm ?? scalar ?? NaN);
        const id = `${from} ${to}`;
        const line = lines.get(id);
        if (!line) lines.set(id, { from, to, norm, cut, steps: sent && step !== undefined ? [step] : [] });
        else {
          line.cut = line.cut && cut;
          if (norm !== undefined) line.norm = Math.max(norm, line.norm ?? 0);
          if (sent && step !== undefined) line.steps.push(step);
        }
      });
    });
    return lines;
  }
}
