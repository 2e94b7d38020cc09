import { type DataType, type TensorInfo, util } from '@tensorflow/tfjs-core';
import type { TftrtBackend } from '../backend/backend';
import { TftrtError } from '../errors';
import type { Request } from '../program/requests';
import { within } from '../program/tiers';
import type { Buildable } from './context';
import { type BuildOptions, invalid, type ModelInputs, type Profile, type ShapeRange } from './options';

export interface DeclaredInput {
  readonly name: string;
  /** −1 where any size is allowed. */
  readonly shape: readonly (number | null)[];
  readonly dtype: DataType;
}

/** Shapes of all inputs, in the order of the feeds. */
export interface Corners {
  readonly min: readonly number[][];
  readonly opt: readonly number[][];
  readonly max: readonly number[][];
}

export interface BuildProfile {
  readonly index: number;
  readonly corners: Corners;
  /** min is max. */
  readonly fixed: boolean;
  /** opt is neither. */
  readonly tuned: boolean;
  /** Inputs for each different corner, min first; the last is of the shapes to be timed. */
  readonly samples: readonly (readonly TensorInfo[])[];
  /** What the engine's outputs are compared on: the samples, and all inputs that were given for these shapes. */
  readonly checks: readonly (readonly TensorInfo[])[];
}

/**
 * What to build engines for: the profiles; without any, each different set of shapes among the sample inputs; without those,
 * the shapes that the model declares. The samples are held, in `held`.
 */
export function profilesOf(
  model: Buildable,
  { profiles, inputs, outputs }: BuildOptions,
  held: TensorInfo[],
): { profiles: BuildProfile[]; request: Request } {
  const given = (inputs ?? []).map((set) => {
    const call = bindSample(model, set, outputs);
    hold(model.backend, call.inputs, held);
    return call;
  });
  if (profiles !== undefined) {
    const declared = model.declaredInputs();
    const made = profiles.map((profile, index) => {
      const corners = cornersOf(profile, declared);
      const sample = (shapes: readonly number[][]) => {
        const fitting = given.find(({ inputs: set }) =>
          set.every(({ shape }, i) => util.arraysEqual(shape, shapes[i]!)),
        );
        return fitting?.inputs ?? madeUp(model.backend, declared, shapes, held);
      };
      return toProfile(index, corners, sample, given);
    });
    const request = given[0]?.request ?? bindInfos(model, declared, made[0]!.samples[0]!, outputs);
    return { profiles: made, request };
  }
  if (given.length > 0) {
    const distinct = new Map(
      given.map((call) => [call.inputs.map(({ shape }) => shape.join()).join(';'), call]),
    );
    const made = [...distinct.values()].map(({ inputs: set }, index) => {
      const shapes = set.map(({ shape }) => shape.slice());
      return toProfile(index, { min: shapes, opt: shapes, max: shapes }, () => set, given);
    });
    return { profiles: made, request: given[0]!.request };
  }
  const declared = model.declaredInputs();
  const shapes = declared.map(({ name, shape }) => {
    const open = shape.slice(1).findIndex((size) => size === null || size < 0);
    if (open >= 0) {
      throw invalid(
        `the model's input '${name}' has the shape [${shape.map((size) => size ?? -1)}]`,
        '`inputs` or `profiles` that say which sizes to build for',
      );
    }
    return shape.map((size) => (size === null || size < 0 ? 1 : size));
  });
  const sample = (wanted: readonly number[][]) => madeUp(model.backend, declared, wanted, held);
  const made = toProfile(0, { min: shapes, opt: shapes, max: shapes }, sample, []);
  return { profiles: [made], request: bindInfos(model, declared, made.samples[0]!, outputs) };
}

function toProfile(
  index: number,
  corners: Corners,
  sample: (shapes: readonly number[][]) => readonly TensorInfo[],
  given: ReadonlyArray<{ readonly inputs: readonly TensorInfo[] }>,
): BuildProfile {
  const same = (a: readonly number[][], b: readonly number[][]) =>
    a.every((shape, i) => util.arraysEqual(shape, b[i]!));
  const fixed = same(corners.min, corners.max);
  const tuned = !same(corners.opt, corners.min) && !same(corners.opt, corners.max);
  const shapes = fixed
    ? [corners.min]
    : tuned
      ? [corners.min, corners.max, corners.opt]
      : [corners.min, corners.max];
  const samples = shapes.map(sample);
  const others = given
    .map(({ inputs }) => inputs)
    .filter(
      (set) =>
        !samples.includes(set) &&
        within(
          set.map(({ shape }) => shape),
          corners,
        ),
    );
  return { index, corners, fixed, tuned, samples, checks: [...samples, ...others] };
}

function cornersOf(profile: Profile, declared: readonly DeclaredInput[]): Corners {
  const isRange = (value: Profile): value is ShapeRange =>
    ['min', 'opt', 'max'].some((corner) => Array.isArray((value as ShapeRange)[corner as keyof ShapeRange]));
  if (isRange(profile) && declared.length !== 1) {
    throw invalid(
      'a profile has one range of shapes',
      `a range for each of the inputs ${declared.map(({ name }) => name).join(', ')}`,
    );
  }
  const ranges = declared.map(({ name }) => {
    const range = isRange(profile) ? profile : (profile[name] ?? profile[name.split(':')[0]!]);
    const given = range?.opt ?? range?.max ?? range?.min;
    if (range === undefined || given === undefined) {
      throw invalid(`a profile has no shapes for the input '${name}'`, '{ min, opt, max }, or one of them');
    }
    const min = range.min ?? given;
    const max = range.max ?? given;
    const opt = range.opt ?? max;
    const ordered =
      min.length === max.length &&
      opt.length === max.length &&
      max.every(
        (size, i) => Number.isInteger(min[i]) && min[i]! >= 1 && min[i]! <= opt[i]! && opt[i]! <= size,
      );
    if (!ordered) {
      throw invalid(
        `the profile of '${name}' is min [${min}], opt [${opt}], max [${max}]`,
        'shapes of one rank whose sizes are 1 or above and do not get smaller from min to max',
      );
    }
    return { min: [...min], opt: [...opt], max: [...max] };
  });
  return {
    min: ranges.map(({ min }) => min),
    opt: ranges.map(({ opt }) => opt),
    max: ranges.map(({ max }) => max),
  };
}

/** The model's own checks of a call; those of tfjs throw errors without a code. */
export function bindSample(
  model: Buildable,
  inputs: ModelInputs,
  outputs: string[] | undefined,
): ReturnType<Buildable['bind']> {
  try {
    return model.bind(inputs, outputs);
  } catch (error) {
    if (error instanceof TftrtError) throw error;
    throw new TftrtError('TFTRT_INVALID_ARGUMENT', `build: ${(error as Error).message}`, { cause: error });
  }
}

/** Keeps the data of tensors until `letGo` of those in `held`. */
export function hold(backend: TftrtBackend, infos: readonly TensorInfo[], held: TensorInfo[]): void {
  for (const info of infos) {
    backend.hold(info);
    held.push(info);
  }
}

/** Values to compare engines on where nobody gave any: evenly spread over [0, 1), the same in each process. */
function madeUp(
  backend: TftrtBackend,
  declared: readonly DeclaredInput[],
  shapes: readonly number[][],
  held: TensorInfo[],
): TensorInfo[] {
  return declared.map(({ name, dtype }, i) => {
    const shape = shapes[i]!;
    if (dtype !== 'float32') {
      throw invalid(`the input '${name}' is ${dtype}, for which no values can be made up`, 'sample `inputs`');
    }
    const values = new Float32Array(util.sizeFromShape(shape));
    let state = 12345;
    for (let j = 0; j < values.length; j++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      values[j] = state / 2 ** 32;
    }
    const info = { dataId: backend.write(values, shape, 'float32'), shape, dtype };
    held.push(info);
    return info;
  });
}

/** The request of a call with these inputs. */
function bindInfos(
  model: Buildable,
  declared: readonly DeclaredInput[],
  infos: readonly TensorInfo[],
  outputs: string[] | undefined,
): Request {
  const tensors = Object.fromEntries(declared.map(({ name }, i) => [name, model.backend.borrow(infos[i]!)]));
  try {
    return bindSample(model, tensors as ModelInputs, outputs).request;
  } finally {
    for (const tensor of Object.values(tensors)) tensor.dispose();
  }
}
