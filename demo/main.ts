// The main job: a photo in, detections out. Usage: npm run demo [-- photo.jpg]
import fs from 'node:fs';
import path from 'node:path';
import * as tf from '@tensorflow/tfjs';
import * as tftrt from 'tfjs-backend-tftrt';
import { decodeImage, encodeJpeg } from '#src/node/image';
import { type Detection, Detector } from './detector';
import { ensureFaceApi, ensureHumanModels } from './fetch_models';
import { annotate, COLOURS } from './picture';

const LATER_RUNS = 9;

async function main(): Promise<void> {
  const chosen = process.argv[2];
  const photoFile =
    chosen === undefined
      ? path.join(await ensureFaceApi(), 'demo', 'sample2.jpg')
      : path.resolve(process.env.INIT_CWD ?? '.', chosen);
  const models = await ensureHumanModels();
  await tf.setBackend('tftrt');
  const { tensorFlowVersion, device } = tftrt.stats();
  console.log(`\ntftrt with TensorFlow ${tensorFlowVersion} on ${device}\nphoto: ${photoFile}`);

  const photo = decodeImage(fs.readFileSync(photoFile), 3) as tf.Tensor3D;
  const [detector, loadMs] = await timed(() => Detector.load(models));
  const input = detector.prepare(photo);
  const [output, whole] = await timeRuns(() => detector.run(input));
  const detections = await detector.detections(output, photo.shape);
  tf.env().set('TFTRT_GRAPH_MODEL', false);
  const [, opByOp] = await timeRuns(() => detector.run(input));
  tf.env().set('TFTRT_GRAPH_MODEL', true);

  printDetections(detections);
  console.log(`\nmodel: centernet, loaded in ${loadMs.toFixed(0)} ms`);
  console.log(
    `  the graph as one callable:  first run ${ms(whole.first)}, later runs ${ms(whole.later)} (median of ${LATER_RUNS})`,
  );
  console.log(
    `  op by op, tfjs's executor:  first run ${ms(opByOp.first)}, later runs ${ms(opByOp.later)} (median of ${LATER_RUNS})`,
  );

  const picture = path.resolve('demo', 'output', `${path.parse(photoFile).name}-detections.jpg`);
  fs.mkdirSync(path.dirname(picture), { recursive: true });
  fs.writeFileSync(picture, await encodeJpeg(annotate(photo, detections)));
  console.log(`\nwrote ${path.relative(process.cwd(), picture)}`);
}

function printDetections(detections: readonly Detection[]): void {
  console.log(`\nfound ${detections.length} things:`);
  detections.forEach(({ label, score, box: { left, top, right, bottom } }, index) => {
    const [colour] = COLOURS[index % COLOURS.length]!;
    const pixels = [left, top, right, bottom].map((value) => Math.round(value));
    console.log(
      `  ${label.padEnd(14)} ${(score * 100).toFixed(0).padStart(3)} %  left ${pixels[0]}, top ${pixels[1]}, right ${pixels[2]}, bottom ${pixels[3]}  (${colour})`,
    );
  });
}

/** The result of the first run, and how long the first and the later runs took, in ms. */
async function timeRuns(run: () => tf.Tensor3D): Promise<[tf.Tensor3D, { first: number; later: number }]> {
  const readResult = async () => {
    const result = run();
    await result.data();
    return result;
  };
  const [result, first] = await timed(readResult);
  const later: number[] = [];
  for (let i = 0; i < LATER_RUNS; i++) {
    const [again, time] = await timed(readResult);
    again.dispose();
    later.push(time);
  }
  later.sort((a, b) => a - b);
  return [result, { first, later: later[LATER_RUNS >> 1]! }];
}

async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
  const start = performance.now();
  const result = await work();
  return [result, performance.now() - start];
}

function ms(time: number): string {
  return `${time.toFixed(1)} ms`.padStart(9);
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
