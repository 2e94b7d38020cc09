import type { Configuration } from 'tfjs-backend-tftrt';
import type { SideName } from '../types';

/** A library with the settings of a whole process. */
export interface Contestant {
  readonly name: string;
  /** As it is called in the plot. */
  readonly label: string;
  readonly side: SideName;
  readonly configuration?: Configuration;
  /** The precision of the TensorRT engines that it builds; without it TensorFlow computes. */
  readonly engine?: EnginePrecision;
  readonly env?: NodeJS.ProcessEnv;
  /** It loads none: for what concerns none, and would be disturbed by the garbage that models leave. */
  readonly withoutModels?: true;
}

export type EnginePrecision = 'FP16' | 'INT8';

/** By itself the peer takes all of the GPU's memory, and others have to wait beside it. */
const PEER_ENV = { TF_FORCE_GPU_ALLOW_GROWTH: 'true' };

/** Everyone, in the order of tables and plots. */
export const CONTESTANTS: readonly Contestant[] = [
  { name: 'INT8', label: 'tftrt, TensorRT INT8', side: 'tftrt', engine: 'INT8' },
  { name: 'FP16', label: 'tftrt, TensorRT FP16', side: 'tftrt', engine: 'FP16' },
  {
    name: 'TF32',
    label: 'tftrt, TensorFlow TF32',
    side: 'tftrt',
    configuration: { precision: 'TF32' },
  },
  {
    name: 'FP32',
    label: 'tftrt, TensorFlow FP32',
    side: 'tftrt',
    configuration: { precision: 'FP32' },
  },
  {
    name: 'peer',
    label: 'tfjs-node-gpu (TF32)',
    side: 'peer',
    env: PEER_ENV,
  },
  { name: 'bare', label: 'tftrt, no model loaded', side: 'tftrt', withoutModels: true },
  {
    name: 'bare-peer',
    label: 'tfjs-node-gpu, no model loaded',
    side: 'peer',
    env: PEER_ENV,
    withoutModels: true,
  },
];

/** The contestant of that name. */
export function contestant(name: string): Contestant {
  const found = CONTESTANTS.find((candidate) => candidate.name === name);
  if (found === undefined)
    throw new RangeError(
      `There is no contestant '${name}'; choose from: ${CONTESTANTS.map((one) => one.name).join(', ')}.`,
    );
  return found;
}
