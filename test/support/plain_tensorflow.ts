import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type * as tf from '@tensorflow/tfjs-core';
import { CUDA_LIBRARIES, findLibraries, TENSORRT_LIBRARIES } from '#src/setup/gpu_libraries';
import { addonFile, locateTensorFlow } from '#src/setup/paths';

const program = path.join(path.dirname(addonFile('tftrt')), 'plain_tensorflow');

/** Where TensorFlow, and on a GPU what it opens by name, are found by a program that knows nothing of this project. */
function libraryPath(): string {
  const { found } = findLibraries([...CUDA_LIBRARIES, ...TENSORRT_LIBRARIES]);
  const files = [locateTensorFlow().libraries.cc, ...found.values()];
  return [...new Set(files.map((file) => path.dirname(file)))].join(path.delimiter);
}

/** Runs a serialized GraphDef in a process of TensorFlow alone: see test/addon/plain_tensorflow.cc. Float32 only. */
export async function runInPlainTensorFlow(
  graph: Uint8Array,
  inputs: tf.NamedTensorMap,
  outputs: readonly string[],
): Promise<{ values: number[][]; log: string }> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tftrt-test-'));
  const write = (name: string, bytes: Uint8Array) => {
    const file = path.join(folder, name);
    fs.writeFileSync(file, bytes);
    return file;
  };
  try {
    const fed = await Promise.all(
      Object.entries(inputs).map(async ([name, tensor], i) => {
        const { buffer, byteOffset, byteLength } = await tensor.data<'float32'>();
        return `${name}=${tensor.shape}=${write(`input-${i}`, new Uint8Array(buffer, byteOffset, byteLength))}`;
      }),
    );
    const { stdout, stderr } = await promisify(execFile)(
      program,
      [write('graph.pb', graph), ...fed, '--', ...outputs],
      {
        env: { ...process.env, LD_LIBRARY_PATH: libraryPath(), TF_CPP_MIN_LOG_LEVEL: '0' },
        maxBuffer: 2 ** 26,
      },
    );
    const values = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' ').map(Number));
    return { values, log: stderr };
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}
