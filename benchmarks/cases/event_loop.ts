import type { Tensor } from '@tensorflow/tfjs';
import { SIDES } from '../sides';
import { figureAtLeast, medianAtLeast } from '../targets';
import type { Case, Turn } from '../types';
import { seededFloats } from '../values';
import { fixedShape, loadGraph } from './graph';

const DURATION = 'prediction, ms';

/** Does an asynchronous prediction leave the event loop free? */
export const eventLoop: Case = {
  name: 'event-loop',
  title: 'GraphModel of 300 ms or more: ticks of a 1 ms timer during await predictAsync',
  unit: 'ticks',
  better: 'higher',
  sides: SIDES,
  targets: [medianAtLeast(200, 'ticks'), figureAtLeast(DURATION, 300)],
  async prepare(side, models) {
    const model = await loadGraph(side, models.slowGraphModel);
    const shape = fixedShape(model.inputs[0]?.shape);
    const x = side.tf.tensor(seededFloats(shape.reduce((a, b) => a * b, 1)), shape);
    const predict = async () => {
      let ticks = 0;
      const timer = setInterval(() => ticks++, 1);
      const start = performance.now();
      const y = (await model.predictAsync(x)) as Tensor;
      const ms = performance.now() - start;
      clearInterval(timer);
      y.dispose();
      return { ticks, ms };
    };
    const turn = async (): Promise<Turn> => {
      const { ticks, ms } = await predict();
      return { samples: [ticks], figures: { [DURATION]: ms } };
    };
    return { warmUp: predict, turn };
  },
};
