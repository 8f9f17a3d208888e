// The program's own source: lines, joined with the operations that they compute.

import type { Place, Recording, SourceFile, Tape } from "./data";
import { el } from "./dom";

export class SourceView {
  readonly root = el("div", { class: "code", tabindex: -1 });
  private lines = new Map<string, HTMLElement>();
  private readonly byLine = new Map<string, number[]>();

  constructor(
    recording: Recording,
    tape: Tape,
    private readonly choose: (nodes: number[]) => void,
  ) {
    tape.nodes.forEach((node, i) => {
      if (!node.at) return;
      const id = key(node.at[0], node.at[1]);
      const found = this.byLine.get(id);
      if (found) found.push(i);
      else this.byLine.set(id, [i]);
    });
    const used = new Set(tape.nodes.flatMap((node) => (node.at ? [node.at[0]] : [])));
    if (tape.where) used.add(tape.where[0]);
    recording.files.forEach((file, i) => {
      if (used.has(i)) this.root.append(this.file(file, i, recording.files.length > 1));
    });
    if (tape.where) this.lines.get(key(tape.where[0], tape.where[1]))?.classList.add("asked");
  }

  private file(file: SourceFile, number: number, named: boolean): HTMLElement {
    const list = el("ol", { start: file.first });
    file.lines.forEach((text, i) => {
      const id = key(number, file.first + i);
      const nodes = this.byLine.get(id) ?? [];
      const line = el("li", { "data-at": file.first + i }, el("code", {}, text || " "));
      if (nodes.length) {
        const act = () => this.choose(nodes);
        line.classList.add("computes");
        line.tabIndex = 0;
        line.setAttribute("role", "button");
        line.title = `${nodes.length} operation${nodes.length > 1 ? "s" : ""}`;
        line.addEventListener("click", act);
        line.addEventListener("keydown", (event) => {
          if (event.key === "Enter" || event.key === " ") {
            event.preventDefault();
            act();
          }
        });
      }
      this.lines.set(id, line);
      list.append(line);
    });
    if (!file.lines.length) list.append(el("li", {}, el("code", {}, "the source of this file is not at hand")));
    return el("section", {}, named && el("h3", {}, file.path), list);
  }

  /** Light the lines of some operations, and scroll to the first. */
  light(places: (Place | undefined)[], scroll = true): void {
    for (const line of this.lines.values()) line.classList.remove("lit");
    let first: HTMLElement | undefined;
    for (const place of places) {
      const line = place && this.lines.get(key(place[0], place[1]));
      line?.classList.add("lit");
      first ??= line;
    }
    if (first && scroll) {
      const area = this.root;
      const top = first.offsetTop - area.offsetTop;
      if (top < area.scrollTop + 20 || top > area.scrollTop + area.clientHeight - 40) area.scrollTop = top - area.clientHeight / 2;
    }
  }

  /** Scroll to the first line that computes. */
  begin(): void {
    const first = this.root.querySelector<HTMLElement>(".computes");
    if (first) this.root.scrollTop = Math.max(0, first.offsetTop - this.root.offsetTop - 60);
  }
}

function key(file: number, line: number): string {
  return `${line} ${file}`;
}
