import * as k from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import { integer, oneOf, type Property, property, shape, tensorOf } from '../arbitraries';

const none = { inputs: {} };

export const creationProperties: Property[] = [
  property(
    k.Fill,
    fc
      .record({
        shape: shape(0, 4, { zero: true }),
        value: oneOf(0, 1, -3),
        dtype: oneOf('float32', 'int32', 'bool'),
      })
      .map((attrs) => ({ ...none, attrs })),
  ),
  property(
    k.LinSpace,
    fc
      .record({ start: integer(-9, 9), stop: integer(-9, 9), num: integer(1, 12) })
      .map((attrs) => ({ ...none, attrs })),
  ),
  property(
    k.Range,
    fc
      .record({
        start: integer(-9, 9),
        stop: integer(-9, 9),
        step: oneOf(1, 2, -1, -3, 0.5),
        dtype: oneOf('float32', 'int32'),
      })
      // Downwards with a step between 0 and 1, tfjs-backend-cpu goes upwards.
      .filter(({ start, stop, step }) => start < stop || step !== 0.5)
      .map((attrs) => ({
        ...none,
        attrs: attrs.dtype === 'int32' ? { ...attrs, step: Math.ceil(attrs.step) } : attrs,
      })),
  ),
  property(
    k.OneHot,
    fc
      .tuple(
        shape(0, 3).chain((dimensions) => tensorOf('int32', dimensions, { min: -2, max: 6 })),
        fc.record({
          depth: integer(1, 5),
          onValue: oneOf(1, 4),
          offValue: oneOf(0, -2),
          dtype: oneOf('float32', 'int32'),
        }),
      )
      .map(([indices, attrs]) => ({ inputs: { indices }, attrs })),
  ),
];
