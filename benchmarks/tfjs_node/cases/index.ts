import type { Case } from '../types';
import { decodeCases } from './decode';
import { encodeCases } from './encode';
import { savedModelCases } from './saved_model';
import { summaryCases } from './summary';
import { tensorBoardCases } from './tensor_board';

/** Every case; its name is only unique for its member. */
export const cases: readonly Case[] = [
  ...decodeCases,
  ...encodeCases,
  ...savedModelCases,
  ...summaryCases,
  ...tensorBoardCases,
];

export function idOf({ member, name }: Case): string {
  return `${member}: ${name}`;
}
