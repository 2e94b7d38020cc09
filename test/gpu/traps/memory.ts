// Processes with limits of their own on the GPU's memory.

import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import * as tf from '@tensorflow/tfjs';
import * as tftrt from 'tfjs-backend-tftrt';
import { errorOf } from '../../support/tftrt';
import { reasonNotToCapture, upload, warmUp } from '../capture';
import { convNet, denseNet, type Net, pixelNet, predictSeed, tensors } from '../nets';
import { relativeError } from '../outcome';

/** For trap.ts: these configure before the first use. */
export const startsItself = true;

const MIB = 2 ** 20;

/** Memory that is taken of the GPU by all processes, as nvidia-smi tells it. Others must not change theirs meanwhile. */
export function usedBytes(): number {
  return queryBytes('memory.used');
}

/** The same, off the event loop. */
export async function usedBytesAsync(): Promise<number> {
  const { stdout } = await promisify(execFile)('nvidia-smi', query('memory.used'));
  return Number(stdout) * MIB;
}

/** A figure of the GPU's memory by nvidia-smi's name for it. */
export function queryBytes(field: string): number {
  return Number(execFileSync('nvidia-smi', query(field), { encoding: 'utf8' })) * MIB;
}

function query(field: string): string[] {
  return [`--query-gpu=${field}`, '--format=csv,noheader,nounits', '--id=0'];
}

export interface Started {
  /** What this process took of the GPU's memory. */
  readonly takenBytes: number;
  readonly totalBytes: number;
  readonly memory: { numBytesInGPU: number; peakBytesInGPU: number; limitBytesInGPU: number };
  readonly devices: tftrt.DeviceInfo[];
  readonly graphArenaBytesInUse?: number;
}

function figures(before: number): Started {
  return {
    takenBytes: usedBytes() - before,
    totalBytes: queryBytes('memory.total'),
    memory: tf.memory() as unknown as Started['memory'],
    devices: tftrt.devices(),
    graphArenaBytesInUse: tftrt.stats().graphArenaBytesInUse,
  };
}

/** A product and a convolution: loads what they need of cuBLAS and cuDNN. */
async function compute(): Promise<number> {
  const y = tf.tidy(() => {
    const product = tf.matMul(tf.ones([256, 256]), tf.ones([256, 256]));
    const image = tf.conv2d(product.reshape<tf.Tensor4D>([1, 256, 256, 1]), tf.ones([3, 3, 1, 8]), 1, 'same');
    return image.max();
  });
  const [value] = await y.data();
  y.dispose();
  return value!;
}

export const EXPECTED_OF_COMPUTE = 256 * 9;

/** Starts with a configuration and computes a little. */
export async function start(configuration: tftrt.Configuration): Promise<Started & { value: number }> {
  const before = usedBytes();
  tftrt.configure(configuration);
  await tf.setBackend('tftrt');
  const value = await compute();
  return { ...figures(before), value };
}

export interface Exhausted {
  readonly full: Started;
  readonly after: Started;
  /** How many pieces there was room for, each time. */
  readonly pieces: number[];
  readonly codes: Array<string | undefined>;
  readonly messages: string[];
  /** Whether all pieces kept their values. */
  readonly intact: boolean;
  readonly value: number;
}

/** Allocates pieces of 64 MiB until there is no room, by ops and by uploads, twice; then goes on. */
export async function exhaust(configuration: tftrt.Configuration): Promise<Exhausted> {
  const before = usedBytes();
  tftrt.configure(configuration);
  await tf.setBackend('tftrt');
  await compute();
  const size = 16 * MIB;
  const values = new Float32Array(size).fill(7);
  const make = [
    (i: number) => tf.tidy(() => tf.add(tf.fill([size], i), 0)),
    (_: number) => upload(tf.tensor1d(values)),
  ];
  const pieces: number[] = [];
  const codes: Array<string | undefined> = [];
  const messages: string[] = [];
  let intact = true;
  let full: Started | undefined;
  for (const [way, makeOne] of make.entries()) {
    const kept: tf.Tensor[] = [];
    const error = await errorOf(() => {
      for (;;) kept.push(makeOne(kept.length));
    });
    codes.push(error.code);
    messages.push(error.message);
    pieces.push(kept.length);
    full ??= figures(before);
    for (const [i, tensor] of kept.entries()) {
      const read = tf.tidy(() => tf.stack([tensor.min(), tensor.max()]));
      intact &&= (await read.data()).every((value) => value === (way === 0 ? i : 7));
      read.dispose();
      tensor.dispose();
    }
  }
  const value = await compute();
  return { full: full!, after: figures(before), pieces, codes, messages, intact, value };
}

/** The errors of a configuration that does not fit the GPU, then a start with another. */
export async function misfit([wrong, right]: [tftrt.Configuration, tftrt.Configuration]): Promise<{
  code?: string;
  message: string;
  value: number;
  late?: string;
}> {
  tftrt.configure(wrong);
  const { code, message } = await errorOf(() => tftrt.stats());
  tftrt.configure(right);
  await tf.setBackend('tftrt');
  const value = await compute();
  const late = await errorOf(() => tftrt.configure({ memoryLimitBytes: 2 ** 32 }));
  return { code, message, value, late: late.code };
}

export interface ArenaResult {
  /** Why the nets were not captured; null where they were. */
  readonly reasons: Array<string | null>;
  readonly capturedGraphs: number;
  readonly right: boolean;
  readonly arenaBytes: number;
  readonly devices: tftrt.DeviceInfo[];
}

/** Captures nets in an arena of the given size, if they fit, and compares what they give with what TensorFlow gave before. */
export async function arena(configuration: tftrt.Configuration): Promise<ArenaResult> {
  tftrt.configure(configuration);
  await tf.setBackend('tftrt');
  const nets: Net[] = [denseNet(), convNet(), pixelNet({ size: 1024, steps: 3 })];
  const reasons: Array<string | null> = [];
  const models: tf.GraphModel[] = [];
  let right = true;
  let capturedGraphs = 0;
  for (const net of nets) {
    const model = await net.load();
    models.push(model);
    const expected = await predictSeed(model, net, 2);
    const reason = await reasonNotToCapture(model, tensors(net, 1));
    reasons.push(reason ?? null);
    capturedGraphs = tftrt.stats().capturedGraphs;
    for (let i = 0; i < 20; i++) {
      right &&= relativeError(await predictSeed(model, net, 2), expected) <= 1e-5;
    }
  }
  const arenaBytes = tftrt.stats().graphArenaBytesInUse ?? 0;
  const devices = tftrt.devices();
  for (const model of models) model.dispose();
  return { reasons, capturedGraphs, right, arenaBytes, devices };
}

/** Captures until the arena is full, disposes of all, and captures again. */
export async function refill(configuration: tftrt.Configuration): Promise<{ captured: number[] }> {
  tftrt.configure(configuration);
  await tf.setBackend('tftrt');
  const net = pixelNet({ size: 512 });
  const captured: number[] = [];
  for (let round = 0; round < 2; round++) {
    const models: tf.GraphModel[] = [];
    for (let i = 0; i < 40; i++) {
      const model = await net.load();
      models.push(model);
      if ((await reasonNotToCapture(model, tensors(net, 1))) !== undefined) break;
    }
    captured.push(tftrt.stats().capturedGraphs);
    for (const model of models) model.dispose();
    await new Promise(setImmediate);
  }
  const model = await net.load();
  await warmUp(model, () => tensors(net, 1));
  model.dispose();
  return { captured };
}
