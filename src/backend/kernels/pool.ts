import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as k from '@tensorflow/tfjs-core';
import { DT } from '../../dtypes';
import { TftrtError } from '../../errors';
import type { Attributes } from '../op_attributes';
import { type CallOperand, dtypeOf, type KernelCall, type Value } from './call';
import { countPositions, type Padding, perAxis, type Window } from './geometry';
import { Layout } from './layout';
import { custom, type FunctionRow, type KernelRow } from './table';

/**
 * Poolings and their gradients. TensorFlow's know only the paddings SAME and VALID; for any other, the input is padded first: with
 * the lowest number for a maximum, and with zeros for an average, which is then scaled to the cells that are no padding.
 */
export const poolKernels: KernelRow[] = [
  custom(k.AvgPool, averagePool('AvgPool', 2)),
  custom(k.AvgPool3D, averagePool('AvgPool3D', 3)),
  custom(k.AvgPoolGrad, averagePoolGradient('AvgPoolGrad', 2)),
  custom(k.AvgPool3DGrad, averagePoolGradient('AvgPool3DGrad', 3)),

  custom(k.MaxPool, (call) => {
    const { x } = call.inputs;
    const pool = new Pool(call, numbers(call, x), 2);
    if (pool.isIdentity) return call.result(x);
    const y = call.run('MaxPool', [pool.padLowest()], pool.attributes);
    return call.result(pool.layout.leave(y), x.dtype);
  }),
  custom(k.MaxPool3D, (call) => {
    const { x } = call.inputs;
    // TensorFlow has this one for floats only.
    const pool = new Pool(call, call.cast(x, 'float32'), 3);
    if (pool.isEmpty) return pool.emptyResult();
    const y = call.run('MaxPool3D', [pool.padLowest()], pool.attributes);
    return call.result(pool.layout.leave(y), x.dtype);
  }),
  custom(k.MaxPoolGrad, (call) => {
    const { dy, input } = call.inputs;
    const pool = new Pool(call, input, 2);
    if (pool.isEmpty) return call.result(call.run('ZerosLike', [input]));
    const padded = pool.padLowest();
    const y = pool.isPadded ? call.run('MaxPool', [padded], pool.attributes) : call.inputs.output;
    return call.result(pool.cut(call.run('MaxPoolGrad', [padded, y, dy], pool.attributes)));
  }),
  custom(k.MaxPool3DGrad, (call) => {
    const { dy, input, output } = call.inputs;
    const pool = new Pool(call, input, 3);
    if (pool.isEmpty) return call.result(call.run('ZerosLike', [input]));
    const padded = pool.padLowest();
    // Callers need not give the output.
    const known = pool.isPadded ? undefined : output;
    const y = known ?? call.run('MaxPool3D', [padded], pool.attributes);
    return call.result(pool.cut(call.run('MaxPool3DGrad', [padded, y, dy], pool.attributes)));
  }),
  custom(k.MaxPoolWithArgmax, (call) => {
    const { x } = call.inputs;
    const { includeBatchInIndex } = call.attrs;
    const pool = new Pool(call, numbers(call, x), 2);
    const { strides, ksize, padding } = pool.attributes as Record<string, number[]>;
    const [y, positions] = call.runAll('MaxPoolWithArgmax', [withoutNaNs(call, pool.padLowest())], {
      strides: strides!,
      ksize: ksize!,
      padding: padding!,
      include_batch_in_index: includeBatchInIndex,
    });
    return [call.result(y!, x.dtype), call.result(pool.unpaddedPositions(positions!), 'int32')];
  }),
];

/** The largest of truth values is that of numbers. */
function numbers(call: KernelCall, x: TensorInfo): CallOperand {
  return x.dtype === 'bool' ? call.cast(x, 'int32') : x;
}

/** tfjs passes over NaNs where it looks for the place of a maximum. */
function withoutNaNs(call: KernelCall, x: CallOperand): CallOperand {
  if (dtypeOf(x) !== DT.FLOAT) return x;
  return call.select(call.run('IsNan', [x]), call.scalar(-Infinity, 'float32'), x);
}

function averagePool(op: string, axes: 2 | 3): FunctionRow['run'] {
  return (call) => {
    const x = call.cast(call.inputs.x, 'float32');
    const pool = new Pool(call, x, axes);
    if (pool.isIdentity) return call.result(x);
    if (pool.isEmpty) return pool.emptyResult();
    const averages = call.run(op, [pool.pad(0)], pool.attributes);
    return call.result(pool.layout.leave(pool.scaleToCells(averages)));
  };
}

function averagePoolGradient(op: string, axes: 2 | 3): FunctionRow['run'] {
  return (call) => {
    const { dy, input } = call.inputs;
    const pool = new Pool(call, input, axes);
    if (pool.isEmpty) return call.result(call.run('ZerosLike', [input]));
    pool.requireGradients(dy);
    const shape = call.constant(pool.paddedShape());
    // With sides padded one by one, tfjs's gradient takes a cell of padding for a cell.
    const scaled = Array.isArray(call.attrs.pad) ? dy : pool.scaleToCells(dy);
    return call.result(pool.cut(call.run(op, [shape, scaled], pool.attributes)));
  };
}

/** The window of a pooling over one input, and the padding around it. */
class Pool {
  readonly layout: Layout;
  readonly attributes: Attributes;
  readonly isPadded: boolean;
  private readonly window: Window;
  private readonly padding: Padding;
  private readonly sizes: number[];

  constructor(
    private readonly call: KernelCall,
    private readonly x: CallOperand,
    axes: 2 | 3,
  ) {
    const { attrs } = call;
    this.layout = new Layout(call, axes, attrs.dataFormat);
    this.window = {
      filter: perAxis(attrs.filterSize, axes),
      strides: perAxis(attrs.strides, axes),
      dilations: perAxis(1, axes),
    };
    this.sizes = this.layout.spatial(x.shape);
    this.padding = this.layout.padding(attrs, this.sizes, this.window);
    this.isPadded = this.padding.kind === 'EXPLICIT';
    this.attributes = {
      ksize: this.layout.spread(this.window.filter),
      strides: this.layout.spread(this.window.strides),
      padding: this.isPadded ? 'VALID' : this.padding.kind,
      data_format: this.layout.format,
    };
  }

  /** A window of one cell that gives as many results as there are cells: tfjs returns the input, whatever the strides. */
  get isIdentity(): boolean {
    return (
      this.layout.axes === 2 &&
      this.window.filter.every((size) => size === 1) &&
      this.positions().every((count, axis) => count === this.sizes[axis])
    );
  }

  /** Whether the window does not fit into the input. */
  get isEmpty(): boolean {
    return this.positions().some((count) => count <= 0);
  }

  emptyResult(): TensorInfo {
    return this.call.write(new Float32Array(0), this.resultShape(), 'float32');
  }

  /** TensorFlow's kernel of the gradient reads as many numbers as there are results, whether or not they are there. */
  requireGradients(dy: TensorInfo): void {
    const shape = this.resultShape();
    if (dy.shape.length === shape.length && dy.shape.every((size, axis) => size >= shape[axis]!)) return;
    throw new TftrtError(
      'TFTRT_INVALID_ARGUMENT',
      `The gradient of a pooling must have the shape of its result, [${shape}]; got [${dy.shape}].`,
    );
  }

  private resultShape(): number[] {
    const shape = [...this.x.shape];
    this.positions().forEach((count, axis) => {
      shape[this.layout.firstSpatialAxis + axis] = Math.max(count, 0);
    });
    return shape;
  }

  /** The number of results along each spatial axis. */
  private positions(): number[] {
    return countPositions(this.sizes, this.window, this.padding);
  }

  pad(value: number): CallOperand {
    const x = this.layout.enter(this.x);
    if (!this.isPadded) return x;
    const sides = this.layout.spreadSides(this.padding);
    return this.call.run('PadV2', [
      x,
      this.call.constant(sides.flat(), 'int32', [sides.length, 2]),
      this.call.scalar(value, dtypeOf(this.x) === DT.INT32 ? 'int32' : 'float32'),
    ]);
  }

  /** Padded with what no maximum can be. */
  padLowest(): CallOperand {
    return this.pad(dtypeOf(this.x) === DT.INT32 ? -(2 ** 31) : -Infinity);
  }

  paddedShape(): number[] {
    const sides = this.layout.spreadSides(this.padding);
    return this.layout.shape(this.x.shape).map((size, i) => size + sides[i]![0] + sides[i]![1]);
  }

  /** A gradient with respect to the padded input, without the padding. */
  cut(gradient: CallOperand): CallOperand {
    if (!this.isPadded) return gradient;
    const begin = this.layout.spreadSides(this.padding).map(([before]) => before);
    return this.call.run('Slice', [
      gradient,
      this.call.constant(begin),
      this.call.constant(this.layout.shape(this.x.shape)),
    ]);
  }

  /** Averages over whole windows become averages over the cells in them that are no padding. */
  scaleToCells(averages: CallOperand): CallOperand {
    if (!this.isPadded) return averages;
    const { filter, strides } = this.window;
    const positions = this.positions();
    // Per axis: for each position of the window, its size by the number of cells in it.
    const factors = this.sizes.map((size, axis) => {
      const [before] = this.padding.sides[axis]!;
      return Array.from({ length: positions[axis]! }, (_, i) => {
        const start = i * strides[axis]! - before;
        const cells = Math.min(start + filter[axis]!, size) - Math.max(start, 0);
        if (cells > 0) return filter[axis]! / cells;
        // The average of nothing: tfjs has NaN for images, 0 for volumes.
        return this.layout.axes === 2 ? Number.NaN : 0;
      });
    });
    return factors.reduce<CallOperand>((scaled, factor, axis) => {
      const shape = this.layout.spread(factors.map((_, i) => (i === axis ? factor.length : 1)));
      return this.call.run('Mul', [scaled, this.call.constant(factor, 'float32', shape)]);
    }, averages);
  }

  /** Flat positions in the padded input as positions in the input. */
  unpaddedPositions(positions: Value): CallOperand {
    if (!this.isPadded) return positions;
    const { call } = this;
    const [, height, width, channels] = this.x.shape as [number, number, number, number];
    const [, paddedHeight, paddedWidth] = this.paddedShape() as [number, number, number];
    const [top, left] = [this.padding.sides[0]![0], this.padding.sides[1]![0]];
    const number = (value: number) => call.scalar(value, 'int64');
    const split = (value: CallOperand, size: number) => [
      call.run('FloorDiv', [value, number(size)]),
      call.run('FloorMod', [value, number(size)]),
    ];
    const join = (value: CallOperand, size: number, digit: CallOperand) =>
      call.run('AddV2', [call.run('Mul', [value, number(size)]), digit]);
    const [pixels, channel] = split(positions, channels) as [Value, Value];
    const [rows, column] = split(pixels, paddedWidth) as [Value, Value];
    const [batch, row] = split(rows, paddedHeight) as [Value, Value];
    const unpaddedRow = call.run('Sub', [row, number(top)]);
    const unpaddedColumn = call.run('Sub', [column, number(left)]);
    return join(join(join(batch, height, unpaddedRow), width, unpaddedColumn), channels, channel);
  }
}
