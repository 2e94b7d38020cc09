import { isDeepStrictEqual } from 'node:util';
import type { Json, Outcome } from './types';

/** Differences that are meant: which cases, what the sides did there, and why. */
interface Known {
  readonly cases: RegExp;
  readonly why: string;
  readonly when: (tftrt: Outcome, peer: Outcome) => boolean;
}

const known: readonly Known[] = [
  {
    cases: /^(de|en)code.*: NaN$/,
    why: 'NaN for a whole number is an error in the program that computed it: it is refused. tfjs-node takes it for 0.',
    when: (tftrt) => refuses(tftrt, 'takes a whole number'),
  },
  {
    cases: /^encode.*: a string tensor$/,
    why: 'Pixels are numbers: strings are refused. tfjs-node parses them.',
    when: (tftrt) => refuses(tftrt, 'int32, float32 or bool'),
  },
  {
    cases: /^encodePng: rank 4/,
    why: 'A batch is refused. tfjs-node encodes its first image and loses the others in silence.',
    when: (tftrt) => refuses(tftrt, '[height, width, channels]'),
  },
  {
    cases: /./,
    why: 'What TensorFlow or a binding cannot take is refused. On tfjs-node it ends the process: by a failed check (an image without pixels), or by an access to memory that is not its own, which some runs survive (a name that is no string).',
    when: (tftrt, peer) => 'error' in tftrt && 'died' in peer,
  },
  {
    cases: /SavedModel: /,
    why: 'All dtypes that models have are taken: float16, bfloat16 and float64 as float32, small integers as int32. tfjs-node refuses the model.',
    when: (tftrt, peer) => 'value' in tftrt && refuses(peer, 'Unsupported tensor DataType'),
  },
  {
    cases: /^loadSavedModel: uint8_io/,
    why: 'uint8 outputs are int32 tensors. Those of tfjs-node cannot be read.',
    when: (tftrt, peer) => 'value' in tftrt && refuses(peer, 'Unhandled TF_DataType: 4'),
  },
  {
    cases: /^loadSavedModel: int64_io, (output beyond int32|2 to the 32)/,
    why: 'An int64 output that int32 cannot hold is refused. tfjs-node returns a BigInt64Array under the dtype int32.',
    when: (tftrt) => refuses(tftrt, 'does not fit int32'),
  },
  {
    cases: /^loadSavedModel: int64_io, (negative|edges|sign)/,
    why: 'Negative int64 inputs keep their value. tfjs-node does not extend the sign: −3 becomes 4294967293.',
    when: (tftrt, peer) => 'value' in tftrt && 'value' in peer,
  },
  {
    cases: /^loadSavedModel: /,
    why: 'An int64 output is an int32 tensor with an Int32Array. tfjs-node returns a BigInt64Array under the dtype int32; the values are the same.',
    when: (tftrt, peer) =>
      'value' in tftrt && 'value' in peer && isDeepStrictEqual(tftrt.value, withoutBigInts(peer.value)),
  },
  {
    cases: /^loadSavedModel: .*execute$/,
    why: '`execute` works. That of tfjs-node always throws.',
    when: (tftrt, peer) => 'value' in tftrt && refuses(peer, 'execute() of TFSavedModel is not supported'),
  },
  {
    cases: /^loadSavedModel: returns a promise of predictAsync$/,
    why: 'This package adds `predictAsync`.',
    when: (tftrt) => 'value' in tftrt,
  },
  {
    cases: /^loadSavedModel: outputNodeNames after outputs$/,
    why: '`outputNodeNames` are the same whenever they are asked for. On tfjs-node, `outputs` takes the `:0` off them.',
    when: (tftrt, peer) => 'value' in tftrt && 'value' in peer,
  },
  {
    cases: /^loadSavedModel: another rank$/,
    why: "Inputs must have the signature's shape. tfjs-node runs the model with any.",
    when: (tftrt) => refuses(tftrt, 'takes shape'),
  },
  {
    cases: /^loadSavedModel: tags stay in their order$/,
    why: "The caller's list of tags stays as it is. tfjs-node sorts it.",
    when: (tftrt) => 'value' in tftrt,
  },
  {
    cases: /^loadSavedModel: a model without its variables$/,
    why: 'A model without its variables is refused when it is loaded. tfjs-node loads it, and its first prediction fails.',
    when: (tftrt, peer) => refuses(tftrt, 'the model is incomplete') && 'value' in peer,
  },
  {
    cases: /^getMetaGraphsFromSavedModel: shapes are lists of numbers$/,
    why: "Shapes are lists of numbers, as the types say. tfjs-node returns objects of protobuf's; the other cases compare their sizes.",
    when: (tftrt) => isDeepStrictEqual(tftrt, { value: 'number' }),
  },
  {
    cases: /^getMetaGraphsFromSavedModel: (a damaged|an empty) file$/,
    why: 'A file that is no SavedModel is refused. tfjs-node finds no meta graphs in it.',
    when: (tftrt) => refuses(tftrt, 'is damaged'),
  },
  {
    cases: /^getNumOfSavedModels: the same model by another path$/,
    why: 'A folder is the same folder however its path is written.',
    when: (tftrt, peer) => isDeepStrictEqual([tftrt, peer], [{ value: 1 }, { value: 2 }]),
  },
  {
    cases: /^summaryFileWriter: scalar: steps beyond int32$/,
    why: 'Steps are int64 in event files, and here: every integer that a number holds. tfjs-node throws from 2^31 − 1 on.',
    when: (tftrt, peer) => 'value' in tftrt && refuses(peer, 'outside of the bound'),
  },
  {
    cases: /^(summaryFileWriter: histogram|tensorBoard: histogramFreq: 1, a bias of one number$)/,
    why: 'One value, equal values and one bucket make a histogram of one bucket. tfjs-node throws, also in the middle of a training.',
    when: (tftrt, peer) =>
      'value' in tftrt && (refuses(peer, "Can't concatenate scalars") || refuses(peer, 'depth must be >=2')),
  },
  {
    cases: /^summaryFileWriter: histogram: with /,
    why: "NaN and infinities, which no bucket holds, are left out. tfjs-node's buckets then have such edges.",
    when: (tftrt, peer) => 'value' in tftrt && 'value' in peer,
  },
  {
    cases: /^summaryFileWriter: histogram: (buckets undefined|very large and very small)$/,
    why: "Buckets are computed in float64. In tfjs-node's float32 some values fall into the bucket beside theirs, and widths overflow.",
    when: (tftrt, peer) => 'value' in tftrt && 'value' in peer,
  },
  {
    cases: /^summaryFileWriter: histogram: how the values are stored$/,
    why: "Histograms are stored as TensorBoard's own writer does: float64, and said to be data of the class TENSOR. tfjs-node stores float32, of no class.",
    when: (tftrt, peer) => 'value' in tftrt && 'value' in peer,
  },
  {
    cases: /^summaryFileWriter: scalar: name ''$/,
    why: 'A value without a name is refused: TensorBoard has no place for it.',
    when: (tftrt) => refuses(tftrt, 'a non-empty string for name'),
  },
  {
    cases: /^tensorBoard: logdir: null$/,
    why: 'A folder that is no string is refused at once. tfjs-node throws at the end of the first epoch.',
    when: (tftrt) => refuses(tftrt, 'a non-empty string for logdir'),
  },
  {
    cases: /^summaryFileWriter: .*: (-1|1\.5|1e12)$/,
    why: 'Limits that are no int32 of 0 or more are refused. tfjs-node drops fractions and higher bits, and TensorFlow compares negative limits as if they were very large.',
    when: (tftrt) => refuses(tftrt, 'an integer from 0 to'),
  },
];

/** Why a case may differ in this way; undefined if it may not. */
export function reasonFor(id: string, tftrt: Outcome, peer: Outcome): string | undefined {
  return known.find(({ cases, when }) => cases.test(id) && when(tftrt, peer))?.why;
}

function refuses(outcome: Outcome, text: string): boolean {
  return 'error' in outcome && outcome.error.includes(text);
}

/** The outcome with its BigInt64Arrays as lists of numbers, like all others. */
function withoutBigInts(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutBigInts);
  if (value === null || typeof value !== 'object') return value;
  if (value.array !== 'BigInt64Array')
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutBigInts(item)]));
  const { array: _, values, ...others } = value;
  return { ...others, values: (values as string[]).map(Number) };
}
