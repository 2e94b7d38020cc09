import { join } from 'node:path';
import type { Tensor } from '@tensorflow/tfjs';
import { loadGraph } from '../cases/graph';
import type { Side } from '../types';
import type { Contestant } from './contestants';
import type { EngineFacts } from './engine';
import { type Agreement, Images } from './images';

/** Whether a model is loaded as a tfjs GraphModel or as a TensorFlow SavedModel. */
export type Format = 'graph' | 'saved';

/** What is used of a model of either format; the peer's SavedModel has no predictAsync. */
export interface LoadedModel {
  predict(input: Tensor): unknown;
  predictAsync?(input: Tensor): Promise<unknown>;
}

/** What is known of a model after it was loaded and made ready. */
export interface ModelFacts {
  readonly name: string;
  readonly loadMs: number;
  readonly engine?: EngineFacts;
  readonly firstPredictMs: number;
  readonly agreement: Agreement;
}

/** Where things are, and how large the large batch is. */
export interface Settings {
  readonly contestant: string;
  /** The folder of the ResNet-50. */
  readonly models: string;
  readonly largeBatch: number;
  /** Options for `configure` beyond the contestant's own. */
  readonly configuration: object;
  readonly tableFile: string;
}

interface Instance {
  readonly name: string;
  readonly model: LoadedModel;
  readonly loadMs: number;
}

/** Single images in verification; more take time and tell nothing new. */
const VERIFIED_SINGLY = 8;
/** Recording takes a second or two. */
const SETTLING_MS = 10_000;

/** The ResNet-50 on one contestant: an engine has one batch size, so there each size gets a model of its own. */
export class Subject {
  readonly images: Images;
  readonly #instances = new Map<string, Instance>();

  constructor(
    readonly side: Side,
    readonly contestant: Contestant,
    readonly settings: Settings,
  ) {
    this.images = new Images(settings.models);
  }

  /** Loads the model of this format for this batch size, unless it was loaded. */
  async load(format: Format, batch: number): Promise<void> {
    const name = this.nameOf(format, batch);
    if (this.#instances.has(name)) return;
    const start = performance.now();
    const folder = join(this.settings.models, `${format}_model`);
    const model =
      format === 'graph' ? await loadGraph(this.side, folder) : await this.side.loadSavedModel(folder);
    this.#instances.set(name, {
      name,
      model: model as LoadedModel,
      loadMs: performance.now() - start,
    });
  }

  /** The loaded model. */
  model(format: Format, batch: number): LoadedModel {
    return this.#instances.get(this.nameOf(format, batch))!.model;
  }

  /** A tensor with a batch of images. */
  input(batch: number, first = 0): Tensor {
    return this.side.tf.tensor(this.images.batch(batch, first), [batch, 224, 224, 3]);
  }

  /** Brings the engine of a loaded model, if the contestant has any, and compares its outputs with Python's. */
  async makeReady(
    format: Format,
    batch: number,
    onProgress?: (message: string) => void,
  ): Promise<ModelFacts> {
    const { name, model, loadMs } = this.#instances.get(this.nameOf(format, batch))!;
    const engine = await this.#build(model, batch, onProgress);
    let firstPredictMs: number | undefined;
    const probabilities: number[] = [];
    for (let i = 0; i < (batch === 1 ? VERIFIED_SINGLY : 1); i++) {
      const x = this.input(batch, i);
      const start = performance.now();
      const y = model.predict(x) as Tensor;
      const values = y.dataSync();
      firstPredictMs ??= performance.now() - start;
      for (const value of values) probabilities.push(value);
      this.side.tf.dispose([x, y]);
    }
    const agreement = this.images.compare(probabilities);
    if (engine === undefined && this.side.name === 'tftrt') await this.#settle(model, batch);
    return { name, loadMs, ...(engine ? { engine } : {}), firstPredictMs: firstPredictMs!, agreement };
  }

  async #build(model: LoadedModel, batch: number, onProgress?: (message: string) => void) {
    const { engine } = this.contestant;
    if (engine === undefined) return undefined;
    // Only here: this loads the project, which the peer's process must not.
    const { buildEngine } = await import('./engine.js');
    const input = this.input(batch);
    const calibration = Array.from({ length: this.images.count }, (_, i) => this.input(1, i));
    try {
      return await buildEngine(model, engine, input, calibration, this.settings.tableFile, onProgress);
    } finally {
      this.side.tf.dispose([input, ...calibration]);
    }
  }

  /** Predicts until the graph is replayed as a CUDA graph, as it is after the first moments in a service. */
  async #settle(model: LoadedModel, batch: number): Promise<void> {
    const { stats } = await import('tfjs-backend-tftrt');
    const { capturedGraphs } = stats();
    const end = performance.now() + SETTLING_MS;
    while (stats().capturedGraphs === capturedGraphs && performance.now() < end) {
      const x = this.input(batch);
      const y = model.predict(x) as Tensor;
      y.dataSync();
      this.side.tf.dispose([x, y]);
      // Recording goes on in the background, and is compared with predictions of its own.
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }

  /** The models are told apart by this. */
  nameOf(format: Format, batch: number): string {
    return this.contestant.engine === undefined ? format : `${format}, batch ${batch}`;
  }
}
