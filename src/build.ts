import { GraphModel } from '@tensorflow/tfjs-converter';
import { TftrtError } from './errors';
import { planToBuild } from './models/graph_model/hook';
import type { GraphModelInternals } from './models/graph_model/types';
import { SignatureModel } from './models/signature_model';
import { nativeRuntime, requireTensorRt } from './native';
import { buildModel } from './tensorrt/build';
import type { BuildOptions } from './tensorrt/options';
import type { ConversionReport } from './tensorrt/report';

/**
 * Optimises a model with TensorRT, off the event loop: converts what TensorRT can compute into engines, or takes them from
 * the cache on the disk, compares their outputs with TensorFlow's and their time, and has the faster correct one serve
 * `predict` and `execute` from then on. Predictions go on meanwhile. Engines are built in a process of their own, which takes
 * from seconds to minutes, and meanwhile up to as much of the GPU's memory as this process may (`memoryLimitBytes`).
 *
 * Errors: `TFTRT_TENSORRT_UNAVAILABLE` without a GPU, `TFTRT_TENSORRT_MISSING` without TensorRT, `TFTRT_INVALID_ARGUMENT` for wrong options,
 * `TFTRT_ENGINE_BUILD_FAILED` where TensorRT cannot build an engine, `TFTRT_NOT_FREEZABLE` for a model that writes its variables.
 * After an error the model serves as before.
 */
export async function build(
  model: GraphModel | SignatureModel,
  options: BuildOptions = {},
): Promise<ConversionReport> {
  const runtime = nativeRuntime();
  if (!runtime.onGpu) {
    throw new TftrtError(
      'TFTRT_TENSORRT_UNAVAILABLE',
      `build needs an NVIDIA GPU: TensorRT computes nowhere else, and this process computes on ${runtime.deviceName}.`,
    );
  }
  requireTensorRt();
  if (model instanceof SignatureModel) return buildModel(await model.buildable(), options);
  if (model instanceof GraphModel || typeof (model as GraphModel)?.execute === 'function') {
    return buildModel(await planToBuild(model as unknown as GraphModelInternals).buildable(), options);
  }
  throw new TftrtError(
    'TFTRT_INVALID_ARGUMENT',
    `build takes a GraphModel, a SavedModel or a FrozenGraph, got ${model === null ? 'null' : typeof model}.`,
  );
}
