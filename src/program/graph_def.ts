/** tensorflow.GraphDef and its parts as proto3 JSON, as far as this package reads or makes them. */
export interface GraphDef {
  node: NodeDef[];
  library?: { function?: FunctionDef[] };
  versions?: { producer?: number; minConsumer?: number };
}

export interface NodeDef {
  name: string;
  op: string;
  /** `node`, `node:index` or `^node` for a control input; in a function body also `node:output_name:index`. */
  input?: string[];
  device?: string;
  attr?: Record<string, AttrValue>;
}

export interface FunctionDef {
  signature: { name: string; [field: string]: unknown };
  nodeDef?: NodeDef[];
  /** Output name → tensor in the body. */
  ret?: Record<string, string>;
  controlRet?: Record<string, string>;
  [field: string]: unknown;
}

/** tensorflow.AttrValue: one of its fields. Bytes (`s`) are in base64, 64-bit integers are strings or numbers. */
export interface AttrValue {
  s?: string;
  i?: string | number;
  f?: number | string;
  b?: boolean;
  type?: string | number;
  shape?: unknown;
  tensor?: unknown;
  list?: { s?: string[]; i?: Array<string | number>; f?: number[]; type?: Array<string | number> };
  func?: { name?: string };
}

/** The text of an attribute of bytes. */
export function textOf(base64: string): string {
  return Buffer.from(base64, 'base64').toString();
}

/** An attribute of bytes. */
export function bytesAttr(text: string): AttrValue {
  return { s: Buffer.from(text).toString('base64') };
}

/** The node's name and output index of a tensor's name in a graph (not in a function body). */
export function parseTensorName(name: string): [node: string, index: number] {
  const match = /^(.*):(\d+)$/.exec(name);
  return match === null ? [name, 0] : [match[1]!, Number(match[2])];
}

/** `node:index` with the index always there, as session callables want it. */
export function fullTensorName(name: string): string {
  return parseTensorName(name).join(':');
}
