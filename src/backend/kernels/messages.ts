import * as k from '@tensorflow/tfjs-core';
import { TftrtError } from '../../errors';

/** Kernels whose errors tfjs words itself, and where TensorFlow's wording differs: [its pattern, that of tfjs]. */
const WORDINGS: Readonly<Record<string, ReadonlyArray<readonly [RegExp, string]>>> = {
  [k.RaggedGather]: [[/^Ragged splits must be sorted$/, 'Ragged splits must be sorted in ascending order']],
  [k.RaggedRange]: [[/<= 9223372036854775807$/, '<= 2147483647']],
  [k.SparseFillEmptyRows]: [[/: (-\d+) >= \d+$/, ': $1 < 0']],
  [k.SparseReshape]: [],
  [k.SparseSegmentMean]: [[/'segment_ids' input/, 'segmentIds input']],
  [k.SparseSegmentSum]: [[/'segment_ids' input/, 'segmentIds input']],
};

/** An error of a kernel as tfjs's users know it. */
export function inTfjsWords(kernel: string, error: unknown): unknown {
  const wordings = WORDINGS[kernel];
  if (wordings === undefined || !(error instanceof TftrtError)) return error;
  const message = wordings.reduce(
    (text, [pattern, words]) => text.replace(pattern, words),
    error.message.replace(/^\w+: /, ''),
  );
  return new TftrtError(error.code, message, { cause: error });
}
