import { DT, tfDataTypeName } from '../dtypes';
import { TftrtError } from '../errors';
import type { NativeAddon } from '../native';

/**
 * The value of an attribute of a TensorFlow op, as a kernel writes it. What it becomes (an int, a float, a list…) is up to the
 * op's definition. Dtypes are names (`float32`, `int64`…) or TensorFlow's numbers.
 */
export type AttributeValue =
  | number
  | boolean
  | string
  | readonly number[]
  | readonly boolean[]
  | readonly string[];
export type Attributes = Readonly<Record<string, AttributeValue>>;

/** Dtypes of intermediate results: those of tfjs, and wider ones. */
export const DTYPE_NUMBERS = {
  float32: DT.FLOAT,
  float64: DT.DOUBLE,
  int32: DT.INT32,
  uint8: DT.UINT8,
  int64: DT.INT64,
  bool: DT.BOOL,
  complex64: DT.COMPLEX64,
  string: DT.STRING,
} as const;
export type DTypeName = keyof typeof DTYPE_NUMBERS;

/** Attribute kinds of an op by name, as TensorFlow's definition spells them: `int`, `list(float)`, `type`… */
export function attributeKinds(addon: NativeAddon, op: string): ReadonlyMap<string, string> {
  const definition = addon.opDefinition(op);
  if (definition === undefined) {
    throw new TftrtError('TFTRT_INTERNAL', `This TensorFlow has no op '${op}'.`);
  }
  const { attr = [] } = JSON.parse(definition) as { attr?: Array<{ name: string; type: string }> };
  return new Map(attr.map(({ name, type }) => [name, type]));
}

/** A tensorflow.AttrValue in JSON. */
export function toAttrValue(kind: string | undefined, value: AttributeValue): Record<string, unknown> {
  const list = value as readonly (number | boolean | string)[];
  switch (kind) {
    case 'int':
      return { i: String(value) };
    case 'float':
      return { f: toFloat(value as number) };
    case 'bool':
      return { b: value };
    case 'string':
      return { s: toBase64(value as string) };
    case 'type':
      return { type: toTypeName(value as DTypeName | number) };
    case 'shape':
      return { shape: { dim: list.map((size) => ({ size: String(size) })) } };
    case 'list(int)':
      return { list: { i: list.map(String) } };
    case 'list(float)':
      return { list: { f: list.map((item) => toFloat(item as number)) } };
    case 'list(bool)':
      return { list: { b: list } };
    case 'list(string)':
      return { list: { s: list.map((item) => toBase64(item as string)) } };
    case 'list(type)':
      return { list: { type: list.map((item) => toTypeName(item as DTypeName)) } };
    default:
      throw new TftrtError('TFTRT_INTERNAL', `No way to write an attribute of kind '${kind}'.`);
  }
}

/** Protobuf's JSON has `NaN`, `Infinity` and `-Infinity` as strings; -0 would lose its sign as a number. */
function toFloat(value: number): number | string {
  return Number.isFinite(value) && !Object.is(value, -0)
    ? value
    : Object.is(value, -0)
      ? '-0'
      : String(value);
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function toTypeName(dtype: DTypeName | number): string {
  return tfDataTypeName(typeof dtype === 'number' ? dtype : DTYPE_NUMBERS[dtype]);
}
