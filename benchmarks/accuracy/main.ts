/**
 * Does lower precision change the answers? Trains a convnet on generated images, and compares the classes that engines of each
 * precision give to unseen images with those of TensorFlow in FP32.
 *
 *     node dist-dev/benchmarks/accuracy/main.js --out FILE        needs a GPU; exit code 1 if a target is missed
 *     … --seconds 70       at most this long for training
 *     … --images 48000     generated for training
 *     … --no-engines       stops after the frozen model: for a machine without a GPU
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import * as tf from '@tensorflow/tfjs';
import * as tftrt from 'tfjs-backend-tftrt';
import { commitOfSource, gpuAndDriver } from '../machine';
import { type EngineResult, maxDifference, type Precision, runEngine } from './engines';
import { freeze, loadFrozen } from './freeze';
import { CLASSES, firstOf, type Images, makeImages } from './images';
import { makeNetwork } from './network';
import { accuracyOf, classify, type Epoch, train } from './training';

const VALIDATION_IMAGES = 1000;
const TEST_IMAGES = 1000;
const CALIBRATION_IMAGES = 500;
/** Whole batches: engines are built for one batch size. */
const BATCH = 100;

/** Share of the unseen images with the same top class as in FP32. */
const AGREEMENT: Readonly<Record<Precision, number>> = { FP32: 0.999, FP16: 0.99, INT8: 0.97 };
/** Below it nothing was learnt, above it the images are too easy to tell anything. */
const FP32_ACCURACY = { least: 0.7, most: 0.95 };
const FROZEN_TOLERANCE = 1e-4;

interface Target {
  readonly name: string;
  readonly value: number | string;
  readonly wanted: string;
  readonly met: boolean;
}

async function main(): Promise<void> {
  const { out, seconds, trainingImages, batchSize, seed, withEngines } = options();
  await tf.setBackend('tftrt');
  const { device } = tftrt.stats(); // throws where the GPU cannot be used

  const started = performance.now();
  const training = makeImages(trainingImages, seed + 1);
  const validation = makeImages(VALIDATION_IMAGES, seed + 2);
  const test = makeImages(TEST_IMAGES, seed + 3);
  const generationSeconds = (performance.now() - started) / 1000;
  console.log(`${device}; images made in ${generationSeconds.toFixed(1)} s`);

  const network = makeNetwork(seed);
  const epochs = await train(network, training, validation, {
    seed,
    batchSize,
    seconds,
    onEpoch: printEpoch,
  });
  const { artifacts, probabilities, frozen } = await freezeAndCompare(network, test);
  const accuracy = accuracyOf(probabilities, test.labels);
  console.log(
    `FP32 accuracy ${percent(accuracy)} on unseen images; frozen differs by ${frozen.maxAbsoluteDifference}`,
  );

  const engines: EngineResult[] = [];
  const targets = () => judge(accuracy, frozen.maxAbsoluteDifference, engines);
  const writeReport = () => {
    if (out === undefined) return;
    mkdirSync(dirname(out), { recursive: true });
    const [gpu, driver] = gpuAndDriver()?.split(', ') ?? [];
    const report = {
      date: new Date().toISOString(),
      command: `node dist-dev/benchmarks/accuracy/main.js ${process.argv.slice(2).join(' ')}`,
      gpu,
      driver,
      device,
      tensorFlow: tftrt.stats().tensorFlowVersion,
      node: process.version,
      commit: commitOfSource(),
      seed,
      classes: CLASSES,
      images: {
        training: trainingImages,
        validation: VALIDATION_IMAGES,
        test: TEST_IMAGES,
        calibration: CALIBRATION_IMAGES,
      },
      training: { batchSize, epochs },
      fp32: { accuracy, frozen },
      engines,
      targets: targets(),
    };
    writeFileSync(out, `${JSON.stringify(report, null, 2)}\n`);
  };
  writeReport();
  if (withEngines) {
    const calibration = firstOf(training, CALIBRATION_IMAGES);
    for (const precision of ['FP32', 'FP16', 'INT8'] as const) {
      const data = { test, calibration, batchSize: BATCH, expected: probabilities };
      engines.push(await runEngine(artifacts, precision, data));
      printEngine(engines.at(-1)!);
      writeReport(); // the next engine may take minutes, or the time that there is
    }
  }

  for (const { name, value, wanted, met } of targets()) {
    console.log(`${met ? 'met   ' : 'MISSED'} ${name}: ${value} (wanted ${wanted})`);
  }
  if (targets().some(({ met }) => !met)) process.exitCode = 1;
  if (out !== undefined) console.log(`Written: ${out}`);
}

function options() {
  const { values } = parseArgs({
    options: {
      out: { type: 'string' },
      seconds: { type: 'string', default: '70' },
      images: { type: 'string', default: '48000' },
      batch: { type: 'string', default: '128' },
      seed: { type: 'string', default: '1' },
      'no-engines': { type: 'boolean', default: false },
    },
  });
  const numbers = {
    seconds: Number(values.seconds),
    images: Number(values.images),
    batch: Number(values.batch),
    seed: Number(values.seed),
  };
  for (const [name, value] of Object.entries(numbers)) {
    if (!(value > 0)) throw new Error(`--${name} is ${value}; expected a number above 0`);
  }
  const { images: trainingImages, batch: batchSize, ...others } = numbers;
  return { ...others, trainingImages, batchSize, out: values.out, withEngines: !values['no-engines'] };
}

/** The frozen graph, its probabilities for unseen images, and how far they are from the network's own. */
async function freezeAndCompare(network: tf.LayersModel, test: Images) {
  const artifacts = freeze(network);
  const model = await loadFrozen(artifacts);
  const expected = await classify(network, test, BATCH);
  const probabilities = await classify(model, test, BATCH);
  const nodes = (artifacts.modelTopology as { node: unknown[] }).node.length;
  model.dispose();
  network.dispose();
  return {
    artifacts,
    probabilities,
    frozen: { nodes, maxAbsoluteDifference: maxDifference(probabilities, expected) },
  };
}

function judge(accuracy: number, frozenDifference: number, engines: readonly EngineResult[]): Target[] {
  const { least, most } = FP32_ACCURACY;
  return [
    {
      name: 'FP32 accuracy',
      value: percent(accuracy),
      wanted: `${percent(least)} to ${percent(most)}`,
      met: accuracy >= least && accuracy <= most,
    },
    {
      name: 'frozen graph and network differ by',
      value: frozenDifference,
      wanted: `at most ${FROZEN_TOLERANCE}`,
      met: frozenDifference <= FROZEN_TOLERANCE,
    },
    ...engines.flatMap(({ precision, agreement, report }) => [
      {
        name: `${precision} served by`,
        value: report.serving,
        // TensorFlow's own FP32 may be the faster one.
        wanted: precision === 'FP32' ? 'any' : 'tensorrt',
        met: precision === 'FP32' || report.serving === 'tensorrt',
      },
      {
        name: `${precision} top-1 equal to FP32's`,
        value: percent(agreement),
        wanted: `at least ${percent(AGREEMENT[precision])}`,
        met: agreement >= AGREEMENT[precision],
      },
    ]),
  ];
}

function printEpoch({ epoch, learningRate, loss, accuracy, validationAccuracy, seconds }: Epoch): void {
  console.log(
    `epoch ${epoch} (${seconds.toFixed(1)} s, rate ${learningRate}): loss ${loss.toFixed(3)}, ` +
      `accuracy ${percent(accuracy)}, validation ${percent(validationAccuracy)}`,
  );
}

function printEngine({
  precision,
  accuracy,
  agreement,
  maxAbsoluteDifference,
  buildSeconds,
  report,
}: EngineResult): void {
  console.log(
    `${precision}: accuracy ${percent(accuracy)}, agreement ${percent(agreement)}, largest difference ` +
      `${maxAbsoluteDifference.toExponential(1)}, built in ${buildSeconds.toFixed(1)} s, served by ${report.serving}` +
      (report.reason ? ` (${report.reason})` : ''),
  );
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
