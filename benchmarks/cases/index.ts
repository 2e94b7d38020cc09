import type { Case } from '../types';
import { eagerCases } from './eager';
import { eventLoop } from './event_loop';
import { fit } from './fit';
import { graphCases } from './graph';
import { opsSoak } from './ops_soak';
import { savedCases } from './saved';
import { soak } from './soak';
import { transferCases } from './transfer';

/** Every benchmark, in the order of the table. */
export const cases: readonly Case[] = [
  ...graphCases,
  ...savedCases,
  eventLoop,
  ...eagerCases,
  fit,
  ...transferCases,
  soak,
  opsSoak,
];
