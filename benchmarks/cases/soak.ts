import type { Tensor } from '@tensorflow/tfjs';
import { SOAK_TARGETS, soakTurn } from '../soaking';
import type { Case } from '../types';
import { seededFloats } from '../values';
import { fixedShape, loadGraph } from './graph';

const PREDICTIONS = 20_000;
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
  targets: SOAK_TARGETS,
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
    return {
      warmUp: () => predict(0),
      turn: () =>
        soakTurn(side, { run: predict, settling: SETTLING, calls: PREDICTIONS, rssEvery: RSS_EVERY }),
    };
  },
};
