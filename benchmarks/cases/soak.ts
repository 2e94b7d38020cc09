import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import type { Tensor } from '@tensorflow/tfjs';
import { median } from '../statistics';
import { figureAtMost, medianAtMost } from '../targets';
import type { Case, Side, Turn } from '../types';
import { seededFloats } from '../values';
import { fixedShape, loadGraph } from './graph';

const PREDICTIONS = 20_000;
/** Before them: V8 enlarges its young generation, by up to 16 MB, at some point in the first tens of thousands. */
const SETTLING = 60_000;
const ASYNC_EVERY = 20;
const RSS_EVERY = 20;

/** Does anything pile up in a process that predicts for days? */
export const soak: Case = {
  name: 'soak',
  title: `growth of resident memory over ${PREDICTIONS.toLocaleString('en')} predictions, second to last tenth`,
  unit: 'MB',
  better: 'lower',
  sides: ['tftrt'],
  once: true,
  targets: [
    medianAtMost(3, 'MB'),
    figureAtMost('tf tensors left over', 0),
    figureAtMost('tf bytes left over', 0),
    figureAtMost('native tensors left over', 0),
  ],
  async prepare(side, models) {
    const model = await loadGraph(side, models.oneOpGraphModel);
    const shape = fixedShape(model.inputs[0]?.shape);
    const size = shape.reduce((a, b) => a * b, 1);
    const predict = async (i: number) => {
      const x = side.tf.tensor(seededFloats(size, i), shape);
      const y = (i % ASYNC_EVERY === 0 ? await model.predictAsync(x) : model.predict(x)) as Tensor;
      if (i % ASYNC_EVERY === 0) await y.data();
      else y.dataSync();
      side.tf.dispose([x, y]);
    };
    const predictAndWatch = async (count: number): Promise<number[]> => {
      const rss: number[] = [];
      for (let i = 0; i < count; i++) {
        await predict(i);
        if (i % RSS_EVERY === 0) {
          await eventLoopTurn();
          rss.push(process.memoryUsage.rss() / 2 ** 20);
        }
      }
      await eventLoopTurn();
      return rss;
    };
    const turn = async (): Promise<Turn> => {
      await predictAndWatch(SETTLING);
      const before = held(side);
      const rss = await predictAndWatch(PREDICTIONS);
      const after = held(side);
      const left = Object.keys(before).map((key) => [`${key} left over`, after[key]! - before[key]!]);
      const tenth = Math.floor(rss.length / 10);
      const second = median(rss.slice(tenth, 2 * tenth));
      const last = median(rss.slice(-tenth));
      return { samples: [last - second], figures: { 'resident, MB': last, ...Object.fromEntries(left) } };
    };
    return { warmUp: () => predict(0), turn };
  },
};

/** What tfjs and the addon hold. */
export function held(side: Side): Record<string, number> {
  const { numTensors, numBytes } = side.tf.memory();
  const native = side.nativeTensors?.();
  return {
    'tf tensors': numTensors,
    'tf bytes': numBytes,
    ...(native === undefined ? {} : { 'native tensors': native }),
  };
}
