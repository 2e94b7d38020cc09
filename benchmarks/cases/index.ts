import type { Case } from '../types';
import { eagerCases } from './eager';
import { eventLoop } from './event_loop';
import { graphCases } from './graph';
import { savedCases } from './saved';
import { soak } from './soak';
import { transferCases } from './transfer';

/** Every benchmark, in the order of the table. */
export const cases: readonly Case[] = [
  ...graphCases,
  ...savedCases,
  eventLoop,
  ...eagerCases,
  ...transferCases,
  soak,
];
