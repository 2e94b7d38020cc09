// Reads TensorBoard's event files by TensorFlow's own code: its record reader, which checks each record's checksums, and its
// definitions of the protobuf messages.
import fs from 'node:fs';
import path from 'node:path';
import type { BackendValues } from '@tensorflow/tfjs-core';
import { tftrtBackend } from '#src/backend/active';
import { type CallOperand, KernelCall, type Value } from '#src/backend/kernels/call';
import type { DTypeName } from '#src/backend/op_attributes';

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

/** The summaries in the only event file of a folder, without the record that only says the version. */
export function readEvents(folder: string): Array<ScalarEvent | HistogramEvent> {
  const [file, ...others] = fs.readdirSync(folder);
  if (file === undefined || others.length > 0) throw new Error(`${folder} has ${1 + others.length} files`);
  const { version, values } = readEventFile(path.join(folder, file));
  if (version !== 'brain.Event:2') throw new Error(`the version is '${version}'`);
  return values.map(({ step, tag, simpleValue, tensor, plugin, description = '' }) => {
    if (tensor === undefined) return { step, tag, value: simpleValue! };
    if (tensor.dtype !== DT_DOUBLE) throw new Error(`the dtype is ${tensor.dtype}, not DT_DOUBLE`);
    const rows = Array.from({ length: tensor.values.length / 3 }, (_, i) =>
      tensor.values.slice(3 * i, 3 * i + 3),
    );
    return { step, tag, plugin: plugin!, description, buckets: rows };
  });
}

/** A value of a summary, with the step of its event. */
export interface EventValue {
  readonly step: bigint;
  readonly tag: string;
  readonly simpleValue?: number;
  readonly tensor?: { readonly dtype: number; readonly values: readonly number[] };
  readonly plugin?: string;
  readonly pluginContent?: string;
  readonly displayName?: string;
  readonly description?: string;
  readonly dataClass?: number;
}

/** What a file has: the version in its first record, and all values of its summaries in their order. */
export interface EventFile {
  readonly version: string;
  readonly values: EventValue[];
}

/** More records than a test writes. */
const ALL = 1_000_000n;
let readers = 0;
const DT_DOUBLE = 2;
const DT_FLOAT = 1;

export function readEventFile(file: string): EventFile {
  const call = new KernelCall({}, {}, tftrtBackend());
  try {
    const reader = new Reader(call);
    const events = reader.messages(reader.records(file), 'tensorflow.Event', {
      step: 'int64',
      file_version: 'string',
      summary: 'string',
    });
    return {
      version: text(events[0]?.file_version) ?? '',
      values: events.flatMap(({ step, summary }) => {
        const values = reader.messages(summary ?? [], 'tensorflow.Summary', { value: 'string' });
        return values.flatMap(({ value = [] }) =>
          value.map((one) => reader.value((step?.[0] ?? 0n) as bigint, one as Uint8Array)),
        );
      }),
    };
  } finally {
    call.end();
  }
}

type Field = Array<number | bigint | Uint8Array>;
/** The values that a message has of each field: none where it is not set. */
type Message = Partial<Record<string, Field>>;

class Reader {
  constructor(private readonly call: KernelCall) {}

  /** The records of a file. Throws where a checksum is wrong or the last record is cut off. */
  records(file: string): Uint8Array[] {
    const { call } = this;
    const shared_name = `events-${readers++}`;
    // Not FIFOQueueV2, which a GPU has, too: the reader is the CPU's, and TensorFlow ends the process where that cannot find its
    // queue. This one is of a single element, so that there is nothing to shuffle.
    const queue = call.run('RandomShuffleQueueV2', [], { component_types: ['string'], shared_name });
    call.runAll('QueueEnqueueV2', [queue, call.string(file)], { Tcomponents: ['string'] });
    call.runAll('QueueCloseV2', [queue]);
    const reader = call.run('TFRecordReaderV2', [], { shared_name });
    const most = call.tensor(BigInt64Array.of(ALL), [], 'int64');
    const [, records] = call.runAll('ReaderReadUpToV2', [reader, queue, most]);
    for (const resource of [queue, reader]) call.runAll('DestroyResourceOp', [resource]);
    return this.read(records!, 'string') as Uint8Array[];
  }

  /** Takes messages apart. */
  messages(bytes: Field, type: string, fields: Readonly<Record<string, DTypeName>>): Message[] {
    if (bytes.length === 0) return [];
    const { call } = this;
    const names = Object.keys(fields);
    const dataId = call.backend.write(bytes as unknown as BackendValues, [bytes.length], 'string');
    const [sizes, ...values] = call.runAll(
      'DecodeProtoV2',
      [{ dataId, shape: [bytes.length], dtype: 'string' }],
      { message_type: type, field_names: names, output_types: Object.values(fields) },
    );
    call.backend.disposeData(dataId);
    const counts = this.read(sizes!, 'int32') as number[];
    const widths = values.map(({ shape }) => shape[1]!);
    const columns = values.map((value, column) => this.read(value, fields[names[column]!]!));
    return bytes.map((_, row) =>
      Object.fromEntries(
        names.flatMap((name, column) => {
          const count = counts[row * names.length + column]!;
          const from = row * widths[column]!;
          return count === 0 ? [] : [[name, columns[column]!.slice(from, from + count)]];
        }),
      ),
    );
  }

  /** A tensorflow.Summary.Value. */
  value(step: bigint, bytes: Uint8Array): EventValue {
    const [{ tag, simple_value, tensor, metadata } = {} as Message] = this.messages(
      [bytes],
      'tensorflow.Summary.Value',
      { tag: 'string', simple_value: 'float32', tensor: 'string', metadata: 'string' },
    );
    const about = this.messages(metadata ?? [], 'tensorflow.SummaryMetadata', {
      plugin_data: 'string',
      display_name: 'string',
      summary_description: 'string',
      data_class: 'int32',
    })[0];
    const plugin = this.messages(about?.plugin_data ?? [], 'tensorflow.SummaryMetadata.PluginData', {
      plugin_name: 'string',
      content: 'string',
    })[0];
    return {
      step,
      tag: text(tag) ?? '',
      simpleValue: simple_value?.[0] as number | undefined,
      tensor: tensor && this.tensor(tensor[0] as Uint8Array),
      plugin: text(plugin?.plugin_name),
      pluginContent: text(plugin?.content),
      displayName: text(about?.display_name),
      description: text(about?.summary_description),
      dataClass: about?.data_class?.[0] as number | undefined,
    };
  }

  private tensor(bytes: Uint8Array): EventValue['tensor'] {
    const { call } = this;
    const [{ dtype } = {} as Message] = this.messages([bytes], 'tensorflow.TensorProto', { dtype: 'int32' });
    const number = dtype?.[0] as number;
    const name = number === DT_DOUBLE ? 'float64' : number === DT_FLOAT ? 'float32' : 'int32';
    const parsed = call.run('ParseTensor', [call.string(bytes)], { out_type: number });
    return { dtype: number, values: this.read(parsed, name) as number[] };
  }

  /** All elements; the value is gone then. */
  private read(value: Value, dtype: DTypeName): Field {
    const { call } = this;
    const wide = dtype === 'int64' || dtype === 'float64';
    const operand: CallOperand = wide ? call.run('Bitcast', [value], { type: 'int32' }) : value;
    const info = call.result(operand);
    const data = call.backend.readSync(info.dataId);
    call.backend.disposeData(info.dataId);
    if (!wide) return [...(data as unknown as Field)];
    const { buffer, byteOffset, length } = data as Int32Array;
    const copy = buffer.slice(byteOffset, byteOffset + 4 * length);
    return dtype === 'int64' ? [...new BigInt64Array(copy)] : [...new Float64Array(copy)];
  }
}

function text(field: Field | undefined): string | undefined {
  return field?.[0] === undefined ? undefined : Buffer.from(field[0] as Uint8Array).toString();
}
