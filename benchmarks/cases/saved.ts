import { SIDES } from '../sides';
import { shareOfTime } from '../targets';
import type { Case } from '../types';
import { seededFloats } from '../values';
import { predictAndRead } from './graph';

const mobilenet: Case = {
  name: 'saved-mobilenet',
  title: 'SavedModel MobileNetV2 224², batch 1: predict + dataSync + dispose',
  unit: 'ms',
  better: 'lower',
  sides: SIDES,
  targets: [shareOfTime(1.05)],
  async prepare(side, models) {
    const model = await side.loadSavedModel(models.mobilenetSavedModel);
    const x = side.tf.tensor(seededFloats(224 * 224 * 3), [1, 224, 224, 3]);
    return predictAndRead(model, x);
  },
};

/** Models of TensorFlow's own format. */
export const savedCases: readonly Case[] = [mobilenet];
