import * as k from '@tensorflow/tfjs-core';
import { custom, type KernelRow, op } from './table';

/** Strings. */
export const stringKernels: KernelRow[] = [
  op(k.StaticRegexReplace, 'StaticRegexReplace', ['x'], {
    pattern: (attrs) => attrs.pattern,
    rewrite: (attrs) => attrs.rewrite,
    replace_global: (attrs) => attrs.replaceGlobal,
  }),
  op(
    k.StringNGrams,
    'StringNGrams',
    ['data', 'dataSplits'],
    {
      separator: (attrs) => attrs.separator,
      ngram_widths: (attrs) => attrs.nGramWidths,
      left_pad: (attrs) => attrs.leftPad,
      right_pad: (attrs) => attrs.rightPad,
      pad_width: (attrs) => attrs.padWidth,
      preserve_short_sequences: (attrs) => attrs.preserveShortSequences,
    },
    { outputs: () => 2 },
  ),
  op(
    k.StringSplit,
    'StringSplit',
    ['input', 'delimiter'],
    { skip_empty: (attrs) => attrs.skipEmpty ?? true },
    { outputs: () => 3 },
  ),
  custom(k.StringToHashBucketFast, (call) =>
    call.result(
      call.run('StringToHashBucketFast', [call.inputs.input], { num_buckets: call.attrs.numBuckets }),
    ),
  ),
];
