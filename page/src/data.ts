// The data of the page, as gradtape/explain/page_data.py writes it.

/** A number for which JSON has no form is one of "NaN", "Infinity", "-Infinity". */
export type Num = number | string;

export interface Heat {
  rows: number;
  columns: number;
  values: Num[];
}

export interface Picture {
  type?: number; // in the file: the number of dtype and shape
  dtype: string;
  shape: number[];
  sparse?: boolean;
  unknown?: boolean;
  low?: Num;
  high?: Num;
  mean?: Num;
  norm?: Num;
  nan?: number;
  inf?: number;
  values?: Num[];
  text?: string[];
  heat?: Heat;
  histogram?: number[];
}

export interface Out {
  value?: Picture | null;
  gradient?: Picture | null;
  name?: string;
}

export interface Mark {
  kind: "nan" | "inf" | "exploding" | "vanishing";
  text: string;
  hint: string;
}

/** The node and the number of its result, and why no gradient passes if none does. */
export type Input = [number, number] | [number, number, string];

/** The number of the file, the line, and the function. */
export type Place = [file: number, line: number, func: string];

export interface InnerOperation {
  op: string;
  name: string;
  shape: number[][];
  inputs: number[];
}

export interface Node {
  op: string;
  kind: "op" | "target" | "cut" | "source" | "constant";
  inputs: Input[];
  outs: Out[];
  rule?: number;
  at?: Place;
  layer?: string;
  sweep?: string;
  group?: number;
  watched?: boolean;
  marks?: Mark[];
  reason?: { words: string; hint: string };
  inside?: { name: string; operations: InnerOperation[]; note: string };
}

export interface Group {
  kind: "layer" | "function" | "repeat" | "turn" | "stretch" | "sweep";
  label: string;
  parent: number;
}

export interface Part {
  input: number;
  none?: boolean;
  part?: Picture | null;
  sum?: Picture | null;
}

export interface Step {
  node: number;
  parts: Part[];
}

export interface SourceReport {
  source: string;
  target: string;
  reason: string;
  connected: boolean;
  where: string | null;
  line: string | null;
  hint: string;
  certain: boolean;
  words: string;
  node: number;
  cut?: number;
}

export interface Jacobian {
  source: string;
  target: string;
  shape: [number[], number[]];
  picture: Picture & { heat: Heat };
}

export interface Rule {
  name: string;
  words: string;
  formula?: string;
  code?: Record<string, string>;
}

export interface Tape {
  label: string;
  target: string;
  targets: [number, number][];
  nodes: Node[];
  groups: Group[];
  steps: Step[];
  sources: SourceReport[];
  jacobians: Jacobian[];
  rules: Rule[];
  layers: string[];
  notes: string[];
  where: Place | null;
}

export interface SourceFile {
  file: string;
  path: string;
  first: number;
  lines: string[];
}

export interface Recording {
  version: number;
  gradtape: string;
  title: string;
  files: SourceFile[];
  types: [string, number[]][];
  tapes: Tape[];
  notes: string[];
}

export function load(): Recording {
  const recording = JSON.parse(document.getElementById("data")!.textContent!) as Recording;
  const expand = (picture: Picture | null | undefined) => {
    if (picture?.type !== undefined) [picture.dtype, picture.shape] = recording.types[picture.type]!;
  };
  for (const tape of recording.tapes) {
    for (const node of tape.nodes) {
      for (const out of node.outs) {
        expand(out.value);
        expand(out.gradient);
      }
    }
    for (const step of tape.steps) {
      for (const part of step.parts) {
        expand(part.part);
        expand(part.sum);
      }
    }
  }
  return recording;
}
