import { setTimeout as sleep } from 'node:timers/promises';
import type { Tensor } from '@tensorflow/tfjs';
import { cases } from '../cases';
import { milliseconds, sampleForATurn } from '../sampling';
import type { Models, Prepared, Turn } from '../types';
import type { Contestant } from './contestants';
import { inLanes } from './lanes';
import type { Format, Subject } from './subject';

/** One thing that contestants do in turns. */
export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly unit: 'ms' | 'µs' | '%';
  /** The model it needs. */
  readonly model?: { readonly format: Format; readonly large: boolean };
  /** How many turns each contestant gets in a round; 2 by default, 1 for what takes long. */
  readonly turns?: number;
  /** How long it runs before it is measured; a quarter of a second by itself. */
  readonly warmUpMs?: number;
  /** Whether a contestant takes part; `takesPart` leaves out those that have not the models it takes. */
  on(contestant: Contestant): boolean;
  prepare(subject: Subject): Promise<Prepared>;
}

/** Predictions in flight, or between two waits for the device. */
const SINGLE_BLOCK = 20;
const LARGE_BLOCK = 4;
const LANES = 4;
/** Throughput is taken over this many predictions that come to an end. */
const WINDOW = 8;
const WINDOWS = 3;
const EVENT_LOOP_PREDICTIONS = 1000;
const EVENT_LOOP_LIMIT_MS = 2000;

const FORMATS: readonly Format[] = ['graph', 'saved'];
const FORMAT_NAMES: Record<Format, string> = { graph: 'GraphModel', saved: 'SavedModel' };

const everyone = () => true;
const isPeer = ({ side }: Contestant) => side === 'peer';

/** Node compiles a function to machine code after some thousands of calls, which a service has done in its first seconds. */
const COMPILED_MS = 1500;

/**
 * Some processors of a machine are slower than others, to copy to the GPU above all, and a turn mostly stays on the one that it
 * meets. So what takes a processor more than the GPU gets more turns.
 */
const TURNS_OF_PROCESSORS = 6;

/** Both formats run the same engine here; they differ in what a call costs, which the single predictions tell. */
const usualFormat = (format: Format) => (format === 'graph' ? everyone : isPeer);

/** Typed array in, typed array out, as a server that gets an image and answers with numbers. */
function single(format: Format): Scenario {
  return {
    name: `single-${format}`,
    title: `${FORMAT_NAMES[format]}, batch 1: tf.tensor(Float32Array) + predict + dataSync + dispose`,
    unit: 'ms',
    model: { format, large: false },
    warmUpMs: COMPILED_MS,
    turns: TURNS_OF_PROCESSORS,
    on: everyone,
    async prepare(subject) {
      const { tf } = subject.side;
      const model = subject.model(format, 1);
      const values = subject.images.batch(1);
      const run = () => {
        const x = tf.tensor(values, [1, 224, 224, 3]);
        const y = model.predict(x) as Tensor;
        y.dataSync();
        tf.dispose([x, y]);
      };
      return { warmUp: run, turn: () => sampleForATurn(milliseconds(run)) };
    },
  };
}

/** The input stays on the device; the wait for the device is the read of the output (4 KB an image). */
function resident(format: Format, large: boolean): Scenario {
  return {
    name: `${large ? 'large' : 'single'}-resident-${format}`,
    title: `${FORMAT_NAMES[format]}, ${large ? 'large batch' : 'batch 1'}, input on the device: predict + dataSync (the wait for the device) + dispose`,
    unit: 'ms',
    model: { format, large },
    on: usualFormat(format),
    async prepare(subject) {
      const batch = large ? subject.settings.largeBatch : 1;
      const model = subject.model(format, batch);
      const x = subject.input(batch);
      const run = () => {
        const y = model.predict(x) as Tensor;
        y.dataSync();
        y.dispose();
      };
      return { warmUp: run, turn: () => sampleForATurn(milliseconds(run)) };
    },
  };
}

/** As `resident`, with one wait for the device after a block of predictions; the figure is for one of them. */
function block(format: Format, large: boolean): Scenario {
  const count = large ? LARGE_BLOCK : SINGLE_BLOCK;
  return {
    name: `${large ? 'large' : 'single'}-block-${format}`,
    title: `${FORMAT_NAMES[format]}, ${large ? 'large batch' : 'batch 1'}, input on the device: ${count} × (predict + dispose), one dataSync at their end, per prediction`,
    unit: 'ms',
    model: { format, large },
    on: usualFormat(format),
    async prepare(subject) {
      const batch = large ? subject.settings.largeBatch : 1;
      const model = subject.model(format, batch);
      const x = subject.input(batch);
      const run = () => {
        for (let i = 1; i < count; i++) (model.predict(x) as Tensor).dispose();
        const y = model.predict(x) as Tensor;
        y.dataSync();
        y.dispose();
      };
      const time = milliseconds(run);
      return { warmUp: run, turn: () => sampleForATurn(() => time() / count) };
    },
  };
}

/** Typed arrays in and out, several predictions in flight. The peer's SavedModel can only predict at once. */
function pipelined(format: Format): Scenario {
  return {
    name: `large-pipelined-${format}`,
    title: `${FORMAT_NAMES[format]}, large batch, ${LANES} in flight: tf.tensor(Float32Array) + predictAsync + data + dispose, per prediction`,
    unit: 'ms',
    model: { format, large: true },
    on: usualFormat(format),
    async prepare(subject) {
      const { tf } = subject.side;
      const batch = subject.settings.largeBatch;
      const model = subject.model(format, batch);
      const inputs = Array.from({ length: LANES }, (_, lane) => subject.images.batch(batch, lane));
      const run = async (lane: number) => {
        const x = tf.tensor(inputs[lane]!, [batch, 224, 224, 3]);
        const y = (await (model.predictAsync?.(x) ?? model.predict(x))) as Tensor;
        await y.data();
        tf.dispose([x, y]);
      };
      const turn = async (): Promise<Turn> => {
        const ends: number[] = [];
        await inLanes(
          LANES,
          () => ends.length < WINDOW * (WINDOWS + 1),
          async (lane) => {
            await run(lane);
            ends.push(performance.now());
          },
        );
        // The first window fills the pipeline.
        const samples = Array.from(
          { length: WINDOWS },
          (_, i) => (ends[WINDOW * (i + 2) - 1]! - ends[WINDOW * (i + 1) - 1]!) / WINDOW,
        );
        return { samples };
      };
      return { warmUp: () => run(0), turn };
    },
  };
}

/** Ticks of a 1 ms timer while predictions run, against those of an idle loop just before and after. */
function eventLoop(fromArrays: boolean): Scenario {
  return {
    name: fromArrays ? 'event-loop-arrays' : 'event-loop',
    title: `ticks of a 1 ms timer during ${EVENT_LOOP_PREDICTIONS} × (${fromArrays ? 'tf.tensor + ' : ''}await predictAsync + data), ${LANES} in flight, against an idle loop`,
    unit: '%',
    model: { format: 'graph', large: false },
    turns: 1,
    on: fromArrays ? ({ side }) => side === 'tftrt' : everyone,
    async prepare(subject) {
      const { tf } = subject.side;
      const model = subject.model('graph', 1);
      const values = subject.images.batch(1);
      const resident = subject.input(1);
      const predict = async () => {
        const x = fromArrays ? tf.tensor(values, [1, 224, 224, 3]) : resident;
        const y = (await model.predictAsync!(x)) as Tensor;
        await y.data();
        y.dispose();
        if (fromArrays) x.dispose();
      };
      const predictAll = async () => {
        const start = performance.now();
        let started = 0;
        await inLanes(
          LANES,
          () => started++ < EVENT_LOOP_PREDICTIONS && performance.now() - start < EVENT_LOOP_LIMIT_MS,
          predict,
        );
        return Math.min(started, EVENT_LOOP_PREDICTIONS);
      };
      const turn = async (): Promise<Turn> => {
        const before = await ticksPerMs(() => sleep(IDLE_MS));
        let predictions = 0;
        const busy = await ticksPerMs(async () => {
          predictions = await predictAll();
        });
        const after = await ticksPerMs(() => sleep(IDLE_MS));
        const share = (2 * busy.rate) / (before.rate + after.rate);
        return { samples: [100 * share], figures: { 'ms for each prediction': busy.ms / predictions } };
      };
      return { warmUp: predict, turn };
    },
  };
}

const IDLE_MS = 250;

/** How often a 1 ms timer fires while `work` goes on. */
async function ticksPerMs(work: () => Promise<unknown>): Promise<{ rate: number; ms: number }> {
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  const start = performance.now();
  await work();
  const ms = performance.now() - start;
  clearInterval(timer);
  return { rate: ticks / ms, ms };
}

/** A case of `npm run bench` that needs no model. */
function modelFree(name: string): Scenario {
  const found = cases.find((one) => one.name === name)!;
  return {
    name,
    title: found.title,
    unit: found.unit as 'ms' | 'µs',
    turns: TURNS_OF_PROCESSORS,
    on: ({ withoutModels }) => withoutModels === true,
    prepare: (subject) => found.prepare(subject.side, {} as Models),
  };
}

/** Everything that is measured, in the order of the table. */
export const SCENARIOS: readonly Scenario[] = [
  ...FORMATS.map(single),
  ...FORMATS.map((format) => resident(format, false)),
  ...FORMATS.map((format) => block(format, false)),
  ...FORMATS.map((format) => resident(format, true)),
  ...FORMATS.map((format) => block(format, true)),
  ...FORMATS.map(pipelined),
  eventLoop(false),
  eventLoop(true),
  ...['upload', 'read', 'add'].map(modelFree),
];

/** The batch size of a scenario's model. */
export function batchOf(scenario: Scenario, largeBatch: number): number {
  return scenario.model?.large ? largeBatch : 1;
}

/** Whether a contestant takes part in a scenario. */
export function takesPart(contestant: Contestant, scenario: Scenario): boolean {
  return scenario.on(contestant) && (scenario.model === undefined || !contestant.withoutModels);
}
