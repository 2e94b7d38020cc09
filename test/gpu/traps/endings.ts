// What may happen while an engine is being built. Each function is a process's whole work.

import { type Worker, Worker as WorkerThread } from 'node:worker_threads';
import * as tf from '@tensorflow/tfjs';
import { build } from '../api';
import { denseModel, disorder, tensorOf } from '../graphs';
import { predict, relativeError } from '../outcome';

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts a build that takes a while: a wide layer. */
async function startBuild() {
  const { model, expected } = await denseModel({ inputs: 512, outputs: 256 });
  const x = disorder([16, 512], 3);
  const sample = tensorOf(x);
  const built = build(model, { precision: 'FP16', inputs: [sample], cache: false }).then(
    (report) => report.serving as string,
    (error) => error.code as string,
  );
  return { model, expected, x, sample, built };
}

/** The model and its sample are disposed of meanwhile; another model is then built. */
export async function disposeMeanwhile(): Promise<{ ended: string; rightAfterwards: boolean }> {
  const { model, sample, built } = await startBuild();
  await wait(50);
  model.dispose();
  sample.dispose();
  const ended = await built;
  const other = await denseModel();
  const x = disorder([4, 8], 3);
  await build(other.model, { inputs: [tensorOf(x)], cache: false });
  const { values } = await predict(other.model, tensorOf(x));
  const wanted = other.expected(x.values);
  return { ended, rightAfterwards: values.every((value, i) => value === wanted[i]) };
}

/** The process exits in the middle; the parent has its result before that. */
export async function exitMeanwhile(): Promise<string> {
  await startBuild();
  await wait(50);
  setTimeout(() => process.exit(0), 100);
  return 'exiting';
}

/** Nobody waits for the build: it must keep the process alive until it is done, and let it end then. */
export async function endWithoutWaiting(): Promise<string> {
  await startBuild();
  return 'ending';
}

/** A worker is terminated in the middle; the main thread then builds and predicts. */
export async function terminateWorker(): Promise<{ rightAfterwards: boolean }> {
  const worker: Worker = new WorkerThread(
    `const { parentPort, workerData } = require('node:worker_threads');
     const tf = require('@tensorflow/tfjs');
     require('tfjs-backend-tftrt');
     tf.setBackend('tftrt').then(async () => {
       const { startBuildInWorker } = require(workerData);
       await startBuildInWorker();
       parentPort.postMessage('building');
     });`,
    { eval: true, workerData: __filename },
  );
  await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  await wait(50);
  await worker.terminate();
  const { model, expected, x, built } = await startBuild();
  await built;
  const { values } = await predict(model, tensorOf(x));
  const wanted = expected(x.values);
  model.dispose();
  return { rightAfterwards: relativeError(values, wanted) <= 1e-2 };
}

export async function startBuildInWorker(): Promise<void> {
  await startBuild();
}

/** tfjs gives up everything, and is then used again. */
export async function resetMeanwhile(): Promise<{ ended: string; sum: number }> {
  const { built } = await startBuild();
  await wait(50);
  tf.engine().reset();
  const ended = await built;
  await tf.setBackend('tftrt');
  return { ended, sum: (await tf.add(1, 2).data())[0]! };
}
