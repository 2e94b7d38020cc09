import type { BackendValues, DataType } from '@tensorflow/tfjs-core';
import type { Handle } from '../native';
import type { TftrtBackend } from './backend';

/**
 * The values of a tensor, in one of two states: on the host (`values`, not uploaded yet) or in TensorFlow's memory
 * (`handle`). It is itself the `DataId` that tfjs sees, so that finding it costs no lookup.
 */
export class TensorData {
  refCount = 1;
  /** The tensor in TensorFlow's memory; 0 while the values are on the host. */
  handle: Handle = 0;
  /** Values on the host; null once they are in TensorFlow's memory. Strings are arrays of UTF-8 bytes. */
  values: BackendValues | null = null;
  /** The same memory under the shape of an alias (`reshape` shares the data id); 0 where none was asked for yet. */
  view: Handle = 0;
  viewShape: number[] = [];
  /** Whether its host values went into a CUDA graph once: whoever is fed again gets a place on the device. */
  fed = false;
  /** Whether its host values are a copy of our own. */
  taken = false;

  constructor(
    /** The backend whose data it is; null once it was disposed of or moved to another backend. */
    public owner: TftrtBackend | null,
    readonly shape: number[],
    readonly dtype: DataType,
  ) {}
}
