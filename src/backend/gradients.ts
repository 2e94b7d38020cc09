import {
  div,
  fill,
  type GradFunc,
  getGradient,
  Mean,
  mul,
  registerGradient,
  reshape,
  Sum,
  type Tensor,
  unregisterGradient,
  util,
} from '@tensorflow/tfjs-core';

/** The gradient of a reduction to which all elements contribute alike; `share` tells by what that is divided. */
function ofReduction(share: (reduced: number) => number): GradFunc {
  return (dy, [x], attrs) => {
    const { shape } = x!;
    const axes = util.parseAxisParam(attrs.axis as number | number[], shape);
    const kept = shape.map((size, axis) => (axes.includes(axis) ? 1 : size));
    const divisor = share(util.sizeFromShape(axes.map((axis) => shape[axis]!)));
    return {
      x: () => {
        const expanded = reshape(dy as Tensor, kept);
        return mul(divisor === 1 ? expanded : div(expanded, divisor), fill(shape, 1, 'float32'));
      },
    };
  };
}

const GRADIENTS: Readonly<Record<string, GradFunc>> = {
  [Sum]: ofReduction(() => 1),
  [Mean]: ofReduction((reduced) => reduced),
};

/** Only tfjs's own gradients of reductions have this variable. */
const OF_TFJS = 'expandedDyShape';

/**
 * Puts gradients that the backend computes alone into the place of tfjs's own, which come to the same: those multiply by
 * ones that they make on the host, for most of the time of a training step on a GPU. Where tfjs has no gradients
 * (tfjs-core alone), there are none, and one that the program registered stays.
 */
export function replaceGradients(): void {
  for (const [kernelName, gradFunc] of Object.entries(GRADIENTS)) {
    const present = getGradient(kernelName);
    if (present === undefined || !String(present.gradFunc).includes(OF_TFJS)) continue;
    unregisterGradient(kernelName); // or tfjs warns in debug mode
    registerGradient({ kernelName, inputsToSave: ['x'], gradFunc });
  }
}
