import './peers';
import { GraphModel } from '@tensorflow/tfjs-converter';
import { registerTftrt } from './backend/register';
import { registerFileRouter } from './io/file_router';
import { hookGraphModel, registerGraphModelFlag } from './models/graph_model/hook';
import { becomeFirstCopy, exportInstead, firstCopy, warnOfCopies } from './one_copy';
import { buildAtRuntime } from './tensorrt/auto_build';

export type { GpuTensorData } from './backend/gpu_data';
export { build } from './build';
export type { Configuration } from './config';
export { configure } from './configure';
export { createInferenceGraph, type InferenceGraphOptions } from './create_inference_graph';
export { TftrtError } from './errors';
export { computeStream, type DeviceMemory, type DeviceMemoryOptions, tensorFromDevice } from './gpu';
export { type BackendStats, type DeviceInfo, devices, type Stats, stats, type Transfers } from './info';
export { type FrozenGraph, type FrozenGraphOptions, loadFrozenGraph } from './models/frozen_graph';
export { loadSavedModel, type SavedModel, type SavedModelOptions } from './models/saved_model';
export type { BuildMemory } from './tensorrt/build_memory';
export { clearEngineCache, engineCacheDir } from './tensorrt/engine_cache';
export type { BuildOptions, BuildProgress, Precision, Profile, ShapeRange } from './tensorrt/options';
export type { ConversionReport, EngineReport, NativeReport, ProfileReport } from './tensorrt/report';

if (firstCopy === undefined) {
  becomeFirstCopy({ main: module.exports, node: () => require('./node'), hookGraphModel });
  registerTftrt();
  buildAtRuntime();
  registerGraphModelFlag();
  hookGraphModel(GraphModel.prototype);
  registerFileRouter();
} else {
  warnOfCopies(firstCopy);
  // This copy may have another copy of tfjs than the first one.
  firstCopy.hookGraphModel(GraphModel.prototype);
  registerFileRouter();
  exportInstead(module, firstCopy.main);
}
