import type * as tfjsNode from 'tfjs-backend-tftrt/node';

/** The API of tfjs-node 4.22, on either side. */
export type TfjsNode = typeof tfjsNode;

/** What a case has to work with. */
export interface Context {
  readonly tf: TfjsNode;
  /** An empty folder of its own; it is also the working directory. */
  readonly folder: string;
}

/** Something done with one of the 12 members of `tf.node`. What it returns is compared. */
export interface Case {
  readonly member: string;
  readonly name: string;
  run(context: Context): unknown;
}

/** What a case may return in place of what is in event files: they are read when the process has ended. */
export interface EventFiles {
  readonly eventFiles: string;
  /** Besides, how values are stored: which a reader does not see. */
  readonly stored?: boolean;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** How a case went on one side. */
export type Outcome =
  | { readonly value: Json }
  | { readonly error: string; readonly code?: string; readonly how: 'throws' | 'rejects' }
  | { readonly died: string };

/** Cases of one member. */
export function casesOf(
  member: keyof TfjsNode['node'],
  table: Readonly<Record<string, (context: Context) => unknown>>,
): Case[] {
  return Object.entries(table).map(([name, run]) => ({ member, name, run }));
}
