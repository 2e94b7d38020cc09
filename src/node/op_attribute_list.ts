import { type AttributeValue, attributeKinds } from '../backend/op_attributes';
import { TftrtError } from '../errors';
import type { NativeAddon } from '../native';
import { TF } from './binding';

/** An attribute of a TensorFlow op as tfjs-node's backend takes it; `type`: one of `binding.TF_ATTR_*`. */
export interface OpAttribute {
  readonly name: string;
  readonly type: number;
  readonly value: AttributeValue;
}

/** What a kind of attribute is called in TensorFlow's definitions of ops. */
const KINDS = new Map<number, string>([
  [TF.TF_ATTR_STRING, 'string'],
  [TF.TF_ATTR_INT, 'int'],
  [TF.TF_ATTR_FLOAT, 'float'],
  [TF.TF_ATTR_BOOL, 'bool'],
  [TF.TF_ATTR_TYPE, 'type'],
  [TF.TF_ATTR_SHAPE, 'shape'],
]);

/** Of which kind are the attributes of ops; the same in every runtime. */
const known = new Map<string, ReadonlyMap<string, string>>();

/** The attributes as prepared ops take them; throws `TFTRT_INVALID_ARGUMENT` for what the op does not have. */
export function toAttributes(
  addon: NativeAddon,
  op: string,
  list: readonly OpAttribute[],
): Record<string, AttributeValue> {
  const kinds = kindsOf(addon, op);
  const attributes: Record<string, AttributeValue> = {};
  for (const { name, type, value } of list) {
    const kind = kindOf(type, value);
    if (kinds.get(name) !== kind) throw wrongAttribute(op, kinds, name, kind);
    if (!fits(kind, value)) {
      throw invalid(`The attribute '${name}' of the op ${op} takes ${WANTED[kind]}, got ${inWords(value)}.`);
    }
    attributes[name] = value;
  }
  return attributes;
}

/** What the attribute is given as. */
function kindOf(type: number, value: AttributeValue): string {
  const kind = KINDS.get(type) ?? `TF_AttrType ${type}`;
  return Array.isArray(value) && kind !== 'shape' ? `list(${kind})` : kind;
}

function kindsOf(addon: NativeAddon, op: string): ReadonlyMap<string, string> {
  let kinds = known.get(op);
  if (kinds === undefined) {
    if (typeof op !== 'string' || addon.opDefinition(op) === undefined) {
      throw invalid(
        `TensorFlow has no op ${inWords(op)}. Ops have the names of tf.raw_ops, such as 'MatMul'.`,
      );
    }
    kinds = attributeKinds(addon, op);
    known.set(op, kinds);
  }
  return kinds;
}

const WANTED: Readonly<Record<string, string>> = {
  string: 'a string',
  int: 'an integer',
  float: 'a number',
  bool: 'true or false',
  type: "TensorFlow's number of a dtype",
  shape: 'a list of integers',
  'list(int)': 'a list of integers',
  'list(float)': 'a list of numbers',
  'list(bool)': 'a list of true and false',
  'list(string)': 'a list of strings',
  'list(type)': "a list of TensorFlow's numbers of dtypes",
};

function fits(kind: string, value: AttributeValue): boolean {
  if (kind === 'shape' || kind.startsWith('list(')) {
    const item = kind === 'shape' ? 'int' : kind.slice('list('.length, -1);
    return Array.isArray(value) && value.every((element) => fits(item, element));
  }
  switch (kind) {
    case 'string':
      return typeof value === 'string';
    case 'bool':
      return typeof value === 'boolean';
    case 'float':
      return typeof value === 'number';
    default:
      return Number.isInteger(value);
  }
}

function wrongAttribute(
  op: string,
  kinds: ReadonlyMap<string, string>,
  name: string,
  given: string,
): TftrtError {
  const kind = kinds.get(name);
  if (kind !== undefined) {
    return invalid(
      `The attribute '${name}' of the op ${op} is of the kind ${kind}, and was given as ${given}.`,
    );
  }
  const names = [...kinds.keys()].join(', ');
  return invalid(`The op ${op} has no attribute '${name}'; it has ${names === '' ? 'none' : names}.`);
}

function inWords(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value);
}

function invalid(message: string): TftrtError {
  return new TftrtError('TFTRT_INVALID_ARGUMENT', message);
}
