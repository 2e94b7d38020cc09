import type { DataType } from '@tensorflow/tfjs-core';
import * as k from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import {
  axisOf,
  integer,
  oneOf,
  type Property,
  property,
  shape,
  size,
  tensorOf,
  tensorOfAny,
} from '../arbitraries';
import type { KernelCase, TensorSpec } from '../harness';

const NUMBERS: readonly DataType[] = ['float32', 'int32', 'bool'];
const ALL: readonly DataType[] = [...NUMBERS, 'string'];
const ANY: readonly DataType[] = [...ALL, 'complex64'];

/** Calls on one tensor, with attributes that depend on its shape. */
function onTensor(
  kernel: string,
  shapes: fc.Arbitrary<number[]>,
  attrs: (dimensions: number[]) => fc.Arbitrary<object>,
  { dtypes = ALL, name = 'x' } = {},
): Property {
  return property(
    kernel,
    shapes.chain((dimensions) =>
      fc
        .tuple(tensorOfAny(dtypes, dimensions), attrs(dimensions))
        .map(([x, values]): KernelCase => ({ inputs: { [name]: x }, attrs: values })),
    ),
  );
}

const none = () => fc.constant({});
const permutationOf = (dimensions: number[]) =>
  fc.shuffledSubarray(
    dimensions.map((_, axis) => axis),
    { minLength: dimensions.length, maxLength: dimensions.length },
  );
const perAxis = (dimensions: number[], each: (length: number) => fc.Arbitrary<number[]>) =>
  fc.tuple(...dimensions.map(each));

/** A begin, an end and a step along each axis. With several axes, tfjs-backend-cpu makes steps of 1 only. */
const strides = (dimensions: number[]) =>
  fc
    .tuple(
      perAxis(dimensions, (length) =>
        fc
          .tuple(integer(0, length - 1), integer(0, length - 1), fc.boolean())
          .chain(([one, other, negative]) => {
            const low = Math.min(one, other) - (negative ? length : 0);
            const high = Math.max(one, other) - (negative ? length : 0);
            const steps = dimensions.length === 1 ? [1, 2, -1] : [1];
            return oneOf(...steps).map((step) => (step > 0 ? [low, high, step] : [high, low, step]));
          }),
      ),
      fc.tuple(integer(0, 15), integer(0, 15), integer(0, 3)),
    )
    .map(([slices, [beginMask, endMask, shrink]]) => ({
      begin: slices.map(([begin]) => begin!),
      end: slices.map(([, end]) => end!),
      // A dimension that goes has to be walked forwards.
      strides: slices.map(([, , step], axis) => ((shrink >> axis) & 1 ? 1 : step!)),
      beginMask: beginMask & ~shrink,
      endMask: endMask & ~shrink,
      ellipsisMask: 0,
      newAxisMask: 0,
      shrinkAxisMask: shrink & ((1 << dimensions.length) - 1),
    }));

/** Tensors that are alike but for one axis. */
const joinable = fc
  .tuple(shape(1, 4, { max: 3 }), oneOf(...ANY))
  .chain(([dimensions, dtype]) =>
    fc.tuple(
      fc.constant(dimensions),
      fc.constant(dtype),
      axisOf(dimensions.length),
      fc.array(integer(0, 3), { minLength: 1, maxLength: 4 }),
    ),
  )
  .filter(([, , , lengths]) => lengths.some((length) => length > 0))
  .chain(([dimensions, dtype, axis, lengths]) => {
    const along = axis < 0 ? axis + dimensions.length : axis;
    const tensors = lengths.map((length) =>
      tensorOfAny(
        [dtype],
        dimensions.map((n, i) => (i === along ? length : n)),
      ),
    );
    return fc.tuple(...tensors).map((inputs) => ({ inputs: inputs as TensorSpec[], attrs: { axis } }));
  });

const packable = fc
  .tuple(shape(0, 3), oneOf(...ALL), integer(1, 4))
  .chain(([dimensions, dtype, count]) =>
    fc
      .tuple(
        fc.array(tensorOfAny([dtype], dimensions), { minLength: count, maxLength: count }),
        integer(0, dimensions.length),
      )
      .map(([inputs, axis]) => ({ inputs, attrs: { axis } })),
  );

const blocks = fc
  .tuple(integer(1, 2), integer(1, 3), integer(1, 3), fc.tuple(integer(1, 2), integer(1, 2)), integer(1, 2))
  .map(([batch, height, width, block, channels]) => ({ batch, height, width, block, channels }));

export const arrayProperties: Property[] = [
  onTensor(k.Identity, shape(0, 4, { zero: true }), none, { dtypes: ANY }),
  onTensor(k.ExpandDims, shape(0, 5), ({ length }) => fc.record({ dim: integer(-length - 1, length) }), {
    dtypes: ANY,
    name: 'input',
  }),
  onTensor(
    k.Reshape,
    shape(0, 5),
    (dimensions) =>
      fc
        .constantFrom([size(dimensions)], [-1], [1, size(dimensions)], [...dimensions].reverse())
        .map((to) => ({ shape: to })),
    { dtypes: ANY },
  ),
  // What is not finite becomes different integers on different machines.
  onTensor(
    k.Cast,
    shape(0, 4, { zero: true }),
    () => fc.record({ dtype: oneOf('float32', 'int32', 'bool', 'complex64') }),
    {
      dtypes: [...NUMBERS],
    },
  ),
  onTensor(k.OnesLike, shape(0, 4, { zero: true }), none, { dtypes: [...NUMBERS, 'complex64'] }),
  onTensor(k.ZerosLike, shape(0, 4, { zero: true }), none, { dtypes: [...NUMBERS, 'complex64'] }),
  onTensor(k.Transpose, shape(0, 6, { max: 3 }), (dimensions) =>
    permutationOf(dimensions).map((perm) => ({ perm })),
  ),
  onTensor(
    k.Reverse,
    shape(0, 6, { max: 3 }),
    (dimensions) => fc.subarray(dimensions.map((_, axis) => axis)).map((dims) => ({ dims })),
    {
      dtypes: NUMBERS,
    },
  ),
  onTensor(k.Tile, shape(1, 5, { max: 3 }), (dimensions) =>
    perAxis(dimensions, () => integer(1, 3).map((n) => [n])).map((reps) => ({ reps: reps.flat() })),
  ),
  onTensor(
    k.Slice,
    shape(1, 6, { max: 4 }),
    (dimensions) =>
      perAxis(dimensions, (length) =>
        integer(0, length - 1).chain((begin) => fc.tuple(fc.constant(begin), oneOf(-1, 0, length - begin))),
      ).map((slices) => ({ begin: slices.map(([begin]) => begin), size: slices.map(([, count]) => count) })),
    { dtypes: ALL },
  ),
  onTensor(k.StridedSlice, shape(1, 4, { max: 5 }), strides),
  onTensor(
    k.PadV2,
    shape(0, 6, { max: 3 }),
    (dimensions) =>
      perAxis(dimensions, () => fc.tuple(integer(0, 2), integer(0, 2))).map((paddings) => ({
        paddings,
        constantValue: 1,
      })),
    { dtypes: NUMBERS },
  ),
  onTensor(
    k.MirrorPad,
    shape(1, 5, { max: 4 }),
    (dimensions) =>
      oneOf('reflect', 'symmetric').chain((mode) =>
        perAxis(dimensions, (length) => {
          const most = integer(0, mode === 'reflect' ? length - 1 : length);
          return fc.tuple(most, most);
        }).map((paddings) => ({ paddings, mode })),
      ),
    { dtypes: NUMBERS },
  ),
  onTensor(k.SplitV, shape(1, 4), (dimensions) =>
    axisOf(dimensions.length).chain((axis) => {
      const length = dimensions.at(axis)!;
      return oneOf<number | number[]>(1, length, [length], [0, length], [1, length - 1]).map(
        (numOrSizeSplits) => ({
          axis: axis < 0 ? axis + dimensions.length : axis,
          numOrSizeSplits,
        }),
      );
    }),
  ),
  onTensor(k.Unpack, shape(1, 4), ({ length }) => fc.record({ axis: axisOf(length) }), { name: 'value' }),
  property(k.Concat, joinable),
  property(k.Pack, packable),
  property(
    k.SpaceToBatchND,
    blocks.chain(({ batch, height, width, block, channels }) =>
      tensorOfAny(NUMBERS, [batch, height * block[0] + 1, width * block[1] + 1, channels]).map((x) => ({
        inputs: { x },
        attrs: {
          blockShape: block,
          paddings: [
            [block[0] - 1, 0],
            [0, block[1] - 1],
          ],
        },
      })),
    ),
  ),
  property(
    k.BatchToSpaceND,
    blocks.chain(({ batch, height, width, block, channels }) =>
      tensorOfAny(NUMBERS, [batch * block[0] * block[1], height, width, channels]).map((x) => ({
        inputs: { x },
        attrs: {
          blockShape: block,
          crops: [
            [block[0] - 1, 0],
            [0, block[1] - 1],
          ],
        },
      })),
    ),
  ),
  property(
    k.DepthToSpace,
    fc.tuple(blocks, oneOf('NHWC')).chain(([{ batch, height, width, channels }, dataFormat]) =>
      tensorOf('float32', [batch, height, width, channels * 4]).map((x) => ({
        inputs: { x },
        attrs: { blockSize: 2, dataFormat },
      })),
    ),
  ),
];
