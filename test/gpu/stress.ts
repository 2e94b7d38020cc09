import * as tf from '@tensorflow/tfjs';
import { build } from './api';
import { upload, warmUp } from './capture';
import { type Net, predictSeed, take, tensors } from './nets';
import { relativeError } from './outcome';
import { type Pattern, patternMismatch, patternTensor, randomNumbers, scaled } from './pattern';

const SEEDS = [1, 2, 3, 4, 5, 6];
const TOLERANCE = 1e-5;
const MOST_RUNNING = 6;
const MOST_KEPT = 100;
const MOST_KEPT_BYTES = 2 ** 30;
/** 64 MiB. */
const LARGEST_SIZE = 2 ** 24;

/** A model, and what it must give for the inputs of each seed. */
export interface Subject {
  readonly net: Net;
  readonly engine: boolean;
  model: tf.GraphModel;
  expected: Float32Array[];
}

/** Loads a model, takes what it gives without a CUDA graph, and has it captured. */
export async function tensorFlowSubject(net: Net): Promise<Subject> {
  const model = await net.load();
  const expected: Float32Array[] = [];
  for (const seed of SEEDS) expected[seed] = await predictSeed(model, net, seed);
  await warmUp(model, () => tensors(net, 1));
  return { net, engine: false, model, expected };
}

/** Builds an FP16 engine that serves the model. Its own first outputs, which are near TensorFlow's, are what it must give. */
export async function engineSubject(net: Net): Promise<Subject> {
  const model = await net.load();
  const exact: Float32Array[] = [];
  for (const seed of SEEDS) exact[seed] = await predictSeed(model, net, seed);
  const sample = tensors(net, 1);
  const report = await build(model, { precision: 'FP16', inputs: [sample] });
  tf.dispose(sample);
  if (report.serving !== 'tensorrt') throw new Error(`no engine serves ${net.name}: ${report.reason}`);
  const expected: Float32Array[] = [];
  for (const seed of SEEDS) {
    expected[seed] = await predictSeed(model, net, seed);
    const error = relativeError(expected[seed]!, exact[seed]!);
    if (!(error < 2e-2)) throw new Error(`the engine of ${net.name} errs by ${error}`);
  }
  await warmUp(model, () => tensors(net, 1));
  return { net, engine: true, model, expected };
}

type Action = [share: number, name: string, action: () => Promise<void> | void];

function pickByShare(actions: readonly Action[], at: number): Action {
  let rest = at;
  for (const action of actions) {
    rest -= action[0];
    if (rest < 0) return action;
  }
  return actions[0]!;
}

/** How often what was done. */
export interface Tally {
  [action: string]: number;
}

/**
 * Mixes predictions, eager ops, uploads, reads, frees and reloads of models at random for some time, and checks every value
 * that comes out. Throws at the first that is wrong.
 */
export class Stress {
  readonly tally: Tally = {};
  private readonly random: () => number;
  private readonly kept: Array<{ tensor: tf.Tensor; bytes: number; check: () => Promise<void> }> = [];
  private keptBytes = 0;
  private readonly running = new Set<Promise<void>>();
  private failure: Error | undefined;

  constructor(
    private readonly subjects: readonly Subject[],
    private readonly seed: number,
  ) {
    this.random = randomNumbers(seed);
  }

  async run(seconds: number): Promise<Tally> {
    const actions: Action[] = [
      [40, 'asynchronous predictions', () => this.inBackground(() => this.predictAsync())],
      [20, 'predictions', () => this.predict()],
      [10, 'outputs kept', () => this.keepOutput()],
      [10, 'uploads', () => this.keepUpload()],
      [10, 'chains of ops', () => this.keepChain()],
      [5, 'frees unread', () => this.drop(this.any())],
      [4, 'frees after a read', () => this.inBackground(() => this.checkAndDrop(this.any()))],
      [0.2, 'models loaded again', () => this.reload()],
    ];
    const total = actions.reduce((sum, [share]) => sum + share, 0);
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end && this.failure === undefined) {
      const [, name, action] = pickByShare(actions, this.random() * total);
      this.tally[name] = (this.tally[name] ?? 0) + 1;
      try {
        await action();
      } catch (error) {
        this.fail(error);
      }
      while (this.kept.length > MOST_KEPT || this.keptBytes > MOST_KEPT_BYTES) {
        await this.checkAndDrop(this.any()).catch((error) => this.fail(error));
      }
    }
    await Promise.all(this.running);
    while (this.kept.length > 0) await this.checkAndDrop(0).catch((error) => this.fail(error));
    if (this.failure !== undefined) throw this.failure;
    return this.tally;
  }

  private fail(error: unknown): void {
    const done = Object.values(this.tally).reduce((sum, count) => sum + count, 0);
    this.failure ??= new Error(`seed ${this.seed}, step ${done}: ${(error as Error).message}`, {
      cause: error,
    });
  }

  private below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  private any(): number {
    return this.below(this.kept.length);
  }

  private anySubject(): { subject: Subject; seed: number } {
    return {
      subject: this.subjects[this.below(this.subjects.length)]!,
      seed: SEEDS[this.below(SEEDS.length)]!,
    };
  }

  /** Does not wait for the work, unless much of it is going on. */
  private async inBackground(work: () => Promise<void>): Promise<void> {
    while (this.running.size >= MOST_RUNNING) await Promise.race(this.running);
    const promise: Promise<void> = work()
      .catch((error) => this.fail(error))
      .finally(() => this.running.delete(promise));
    this.running.add(promise);
    if (this.random() < 0.3) await new Promise(setImmediate);
  }

  private inputs(subject: Subject, seed: number): tf.NamedTensorMap {
    const inputs = tensors(subject.net, seed);
    if (this.random() < 0.5) for (const input of Object.values(inputs)) upload(input);
    return inputs;
  }

  private async predict(): Promise<void> {
    const { subject, seed } = this.anySubject();
    const inputs = this.inputs(subject, seed);
    const output = subject.model.predict(inputs);
    tf.dispose(inputs);
    await this.expectOutput(output, subject, seed);
  }

  private async predictAsync(): Promise<void> {
    const { subject, seed } = this.anySubject();
    const { model } = subject;
    const inputs = this.inputs(subject, seed);
    const running = model.predictAsync(inputs);
    tf.dispose(inputs);
    // Also where the model is loaded again meanwhile.
    await this.expectOutput(await running, subject, seed);
  }

  private async expectOutput(output: unknown, { net, expected }: Subject, seed: number): Promise<void> {
    const error = relativeError(await take(output), expected[seed]!);
    if (!(error <= TOLERANCE)) throw new Error(`${net.name} errs by ${error} with the inputs ${seed}`);
  }

  private keepOutput(): void {
    const { subject, seed } = this.anySubject();
    const inputs = this.inputs(subject, seed);
    const outputs = [subject.model.predict(inputs) as tf.Tensor | tf.Tensor[]].flat();
    tf.dispose(inputs);
    let from = 0;
    for (const tensor of outputs) {
      const expected = subject.expected[seed]!.subarray(from, from + tensor.size);
      from += tensor.size;
      this.keep(tensor, async () => {
        const error = relativeError((await tensor.data()) as Float32Array, expected);
        if (!(error <= TOLERANCE)) throw new Error(`a kept output of ${subject.net.name} errs by ${error}`);
      });
    }
  }

  /** From 4 bytes to 64 MiB; small ones are as frequent as large ones on a logarithmic scale. */
  private pattern(): Pattern {
    const size = Math.floor(LARGEST_SIZE ** this.random());
    return { size, seed: this.below(4093), factor: 1, offset: 0 };
  }

  private keepUpload(): void {
    const pattern = this.pattern();
    this.keepPattern(upload(patternTensor(pattern)), pattern);
  }

  private keepChain(): void {
    let pattern = this.pattern();
    let x = patternTensor(pattern);
    for (let i = this.below(4); i >= 0; i--) {
      ({ x, pattern } = scaled(x, pattern, 1 + this.below(4), this.below(100)));
    }
    this.keepPattern(x, pattern);
  }

  private keepPattern(x: tf.Tensor1D, pattern: Pattern): void {
    this.keep(x, async () => {
      const problem = patternMismatch(await x.data(), pattern);
      if (problem !== undefined) throw new Error(`a kept tensor: ${problem}`);
    });
  }

  private keep(tensor: tf.Tensor, check: () => Promise<void>): void {
    const bytes = tensor.size * 4;
    this.kept.push({ tensor, bytes, check });
    this.keptBytes += bytes;
  }

  private take(index: number): (typeof this.kept)[number] | undefined {
    const [item] = this.kept.splice(index, 1);
    this.keptBytes -= item?.bytes ?? 0;
    return item;
  }

  private drop(index: number): void {
    this.take(index)?.tensor.dispose();
  }

  private async checkAndDrop(index: number): Promise<void> {
    const item = this.take(index);
    try {
      await item?.check();
    } finally {
      item?.tensor.dispose();
    }
  }

  /** Runs go on meanwhile; the new model is captured in the course of those that follow. */
  private async reload(): Promise<void> {
    const subject = this.subjects[this.below(this.subjects.length)]!;
    if (subject.engine) return; // would take an engine
    const old = subject.model;
    subject.model = await subject.net.load();
    old.dispose();
  }
}
