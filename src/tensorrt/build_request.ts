import fs from 'node:fs';
import path from 'node:path';
import type { BuildMemory, MemoryLimit } from './build_memory';
import type { Precision } from './options';

/** What the process that builds engines is asked for; a file `request.json` in the folder that it fills. */
export interface BuildRequest {
  readonly precision: Precision;
  readonly device: string;
  readonly memoryLimit: MemoryLimit;
  /** TensorFlow's GraphDef, in the same folder. */
  readonly graphFile: string;
  readonly feeds: string[];
  readonly fetches: string[];
  readonly initializers: string[];
  readonly samples: StoredTensor[][];
  readonly calibration: StoredTensor[][];
  /** Engine → table, as TensorRT writes it. */
  readonly calibrationTables: Record<string, string>;
  readonly minimumSegmentSize: number;
  /** As it was asked for; 0: as much as there is, up to the bound. */
  readonly maxWorkspaceSizeBytes: number;
  readonly workspaceBound: number;
  readonly useCalibration: boolean;
  readonly implicitBatch: boolean;
  readonly profileStrategy: 'Range' | 'Range+Optimal';
  /** Whether to put the engines into the graph itself, whose inputs then keep their shapes. */
  readonly embed: boolean;
  /** The largest batch with `implicitBatch`; 0: that of the first sample. */
  readonly maxBatchSize: number;
  /** With `embed`: what the engines' names end with. */
  readonly nameSuffix: string;
}

/** A tensor's values in a file of the folder; strings, as arrays of bytes in base64, in the request itself. */
export interface StoredTensor {
  readonly dtype: number;
  readonly shape: number[];
  readonly file?: string;
  readonly strings?: string[];
}

/** What the native builder returns, and the process sends. */
export interface BuiltEngines {
  readonly engines: string[];
  /** Engine → the ops of its segment. */
  readonly segments: Record<string, string[]>;
  /** The ops of the converted graph that are not engines. */
  readonly native: string[];
  readonly calibrationTables: Record<string, string>;
}

/** Messages of the process that builds. */
export type BuildMessage =
  | { readonly stage: string }
  | { readonly result: BuiltEngines; readonly memory?: BuildMemory }
  | { readonly error: { readonly code: string; readonly message: string } };

/** Writes values beside the request. */
export async function storeTensor(
  folder: string,
  name: string,
  tensor: { dtype: number; shape: number[]; values: ArrayBufferView | Uint8Array[] },
): Promise<StoredTensor> {
  const { dtype, shape, values } = tensor;
  if (Array.isArray(values)) {
    return { dtype, shape, strings: values.map((bytes) => Buffer.from(bytes).toString('base64')) };
  }
  await fs.promises.writeFile(
    path.join(folder, name),
    new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
  );
  return { dtype, shape, file: name };
}
