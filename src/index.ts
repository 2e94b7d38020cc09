import { GraphModel } from '@tensorflow/tfjs-converter';
import { registerTftrt } from './backend/register';
import { registerFileRouter } from './io/file_router';
import { hookGraphModel, registerGraphModelFlag } from './models/graph_model/hook';

export type { GpuTensorData } from './backend/gpu_data';
export { type Configuration, configure } from './config';
export { TftrtError } from './errors';
export { computeStream, type DeviceMemory, type DeviceMemoryOptions, tensorFromDevice } from './gpu';
export { type DeviceInfo, devices, type Stats, stats, type Transfers } from './info';
export { loadSavedModel, type SavedModel, type SavedModelOptions } from './models/saved_model';

registerTftrt();
registerGraphModelFlag();
hookGraphModel(GraphModel.prototype);
registerFileRouter();
