import type { GraphModelInternals } from './types';

/** What messages call the model: its URL, if it came from one. */
export function labelOf({ modelUrl }: GraphModelInternals): string {
  return typeof modelUrl === 'string' ? modelUrl : '(a GraphModel from memory)';
}
