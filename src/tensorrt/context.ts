import type { TensorInfo } from '@tensorflow/tfjs-core';
import type { TftrtBackend } from '../backend/backend';
import type { Program } from '../program/program';
import type { Request } from '../program/requests';
import type { BuildProgress, ModelInputs, ResolvedOptions } from './options';
import type { DeclaredInput } from './profiles';

/** What a model of any kind tells `build`. */
export interface Buildable {
  readonly label: string;
  readonly backend: TftrtBackend;
  readonly program: Program;
  /** The model's own checks of a call. */
  bind(inputs: ModelInputs, outputs?: string | string[]): { request: Request; inputs: readonly TensorInfo[] };
  declaredInputs(): DeclaredInput[];
}

/** A call of `build`, for its parts. */
export interface BuildContext {
  readonly model: Buildable;
  readonly options: ResolvedOptions;
  /** Whether it must not keep the process from ending. */
  readonly background: boolean;
  tell(stage: BuildProgress['stage'], message: string): void;
}
