// Reads TensorBoard's event files: records of tensorflow.Event.
import fs from 'node:fs';
import path from 'node:path';

export interface ScalarEvent {
  readonly step: bigint;
  readonly tag: string;
  readonly value: number;
}

export interface HistogramEvent {
  readonly step: bigint;
  readonly tag: string;
  readonly plugin: string;
  readonly description: string;
  /** [left edge, right edge, count] of each bucket. */
  readonly buckets: number[][];
}

type Fields = Map<number, Array<Buffer | bigint>>;

/** The summaries in the only event file of a folder, without the record that only says the version. */
export function readEvents(folder: string): Array<ScalarEvent | HistogramEvent> {
  const [file, ...others] = fs.readdirSync(folder);
  if (file === undefined || others.length > 0) throw new Error(`${folder} has ${1 + others.length} files`);
  const bytes = fs.readFileSync(path.join(folder, file));
  const events: Array<ScalarEvent | HistogramEvent> = [];
  for (let at = 0; at < bytes.length; ) {
    const length = Number(bytes.readBigUInt64LE(at)); // then a checksum of it, the record, and its checksum
    const event = fieldsOf(bytes.subarray(at + 12, at + 12 + length));
    at += length + 16;
    const summary = event.get(5)?.[0];
    const step = BigInt.asIntN(64, (event.get(2)?.[0] ?? 0n) as bigint);
    for (const value of summary ? fieldsOf(summary as Buffer).get(1)! : []) {
      events.push(readValue(step, fieldsOf(value as Buffer)));
    }
  }
  return events;
}

/** tensorflow.Summary.Value */
function readValue(step: bigint, value: Fields): ScalarEvent | HistogramEvent {
  const tag = text(value, 1);
  const tensor = value.get(8)?.[0] as Buffer | undefined;
  if (tensor === undefined) return { step, tag, value: (value.get(2)![0] as Buffer).readFloatLE() };
  const metadata = fieldsOf(value.get(9)![0] as Buffer);
  const plugin = text(fieldsOf(metadata.get(1)![0] as Buffer), 1);
  return { step, tag, plugin, description: text(metadata, 3), buckets: readBuckets(fieldsOf(tensor)) };
}

/** tensorflow.TensorProto of float64 and shape [buckets, 3] */
function readBuckets(tensor: Fields): number[][] {
  if (tensor.get(1)![0] !== 2n) throw new Error(`the dtype is ${tensor.get(1)}, not DT_DOUBLE`);
  const content = (tensor.get(4)?.[0] ?? Buffer.alloc(0)) as Buffer;
  const values = Array.from({ length: content.length / 8 }, (_, i) => content.readDoubleLE(8 * i));
  return Array.from({ length: values.length / 3 }, (_, i) => values.slice(3 * i, 3 * i + 3));
}

function text(message: Fields, field: number): string {
  return ((message.get(field)?.[0] ?? '') as Buffer).toString();
}

/** A protobuf message: varints as they are, everything else as bytes. */
function fieldsOf(message: Buffer): Fields {
  const fields: Fields = new Map();
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const key = Number(varint());
    const wire = key & 7;
    let value: Buffer | bigint;
    if (wire === 0) {
      value = varint();
    } else {
      const length = wire === 1 ? 8 : wire === 5 ? 4 : Number(varint());
      value = message.subarray(at, at + length);
      at += length;
    }
    fields.set(key >> 3, [...(fields.get(key >> 3) ?? []), value]);
  }
  return fields;
}
