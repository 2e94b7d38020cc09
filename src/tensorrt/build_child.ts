// Builds engines in a process of its own: TensorRT takes minutes, switches that hold for a whole process (TF32), and on
// some graphs the process with it. Arguments: the folder with `request.json`, the process that
// started this one.

import fs from 'node:fs';
import path from 'node:path';
import { choose } from '../config';
import { type Handle, nativeRuntime, requireTensorRt } from '../native';
import { type BuildMemory, workspaceOf } from './build_memory';
import type { BuildMessage, BuildRequest, StoredTensor } from './build_request';

function send(message: BuildMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send!(message, (error: Error | null) => (error ? reject(error) : resolve()));
  });
}

async function main(folder: string, parent: number): Promise<void> {
  const request = JSON.parse(fs.readFileSync(path.join(folder, 'request.json'), 'utf8')) as BuildRequest;
  const { precision, device, memoryLimit, samples, calibration } = request;
  // Layers that stay in float32 in an FP16 or INT8 engine may use TF32: they err less than the others all the same.
  // The memory grows as it is needed: the process that this one builds for may hold most of the GPU's.
  choose({ ...memoryLimit, device, precision: precision === 'FP32' ? 'FP32' : 'TF32', graphArenaBytes: 0 });
  const runtime = nativeRuntime();
  requireTensorRt();
  // However that process ends: nobody waits for the engines then, and building keeps the GPU busy for minutes.
  if (!runtime.addon.endWithParent(parent)) process.exit(1);
  const load = (set: StoredTensor[]) => set.map((stored) => loadTensor(folder, stored));
  const result = runtime.addon.buildEngines(
    {
      ...request,
      precision: precision === 'TF32' ? 'FP32' : precision,
      maxWorkspaceSizeBytes: workspaceOf(request),
      graphFile: path.join(folder, request.graphFile),
      directory: folder,
      samples: samples.map(load),
      calibration: calibration.map(load),
    },
    (stage) => void send({ stage }),
  );
  await send({ result, memory: memoryTaken() });
}

function memoryTaken(): BuildMemory | undefined {
  const { devicePeakBytes, deviceLimitBytes } = nativeRuntime().addon.stats();
  if (devicePeakBytes === undefined || deviceLimitBytes === undefined) return undefined;
  return { peakBytes: devicePeakBytes, limitBytes: deviceLimitBytes };
}

function loadTensor(folder: string, { dtype, shape, file, strings }: StoredTensor): Handle {
  const { addon, commands } = nativeRuntime();
  shape.forEach((size, axis) => {
    commands[axis] = size;
  });
  if (strings !== undefined) {
    return addon.createStringTensor(
      shape.length,
      strings.map((text) => Buffer.from(text, 'base64')),
    );
  }
  const bytes = fs.readFileSync(path.join(folder, file!));
  return addon.createTensor(
    dtype,
    shape.length,
    new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  );
}

main(process.argv[2]!, Number(process.argv[3])).then(
  () => process.exit(0),
  async (error) => {
    await send({ error: { code: error.code ?? 'TFTRT_INTERNAL', message: error.message ?? String(error) } });
    process.exit(1);
  },
);
