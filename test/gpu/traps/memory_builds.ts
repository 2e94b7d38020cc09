// Processes with limits of their own on the GPU's memory, which build engines.

import * as tf from '@tensorflow/tfjs';
import * as tftrt from 'tfjs-backend-tftrt';
import { convNet, denseNet, type Net, predictSeed, tensors } from '../nets';
import { relativeError } from '../outcome';
import { queryBytes, usedBytes, usedBytesAsync } from './memory';

/** For trap.ts: these configure before the first use. */
export const startsItself = true;

export interface Built {
  /** The error of the build, where it was refused. */
  readonly refused?: { readonly code: string; readonly message: string };
  readonly report?: {
    readonly serving: string;
    readonly reason: string;
    readonly engines: number;
    readonly buildMemory?: { readonly peakBytes: number; readonly limitBytes: number };
  };
  /** From TensorFlow's values before the build. */
  readonly error: number;
  readonly predictionsByEngine: number;
  readonly memory: { readonly peakBytesInGPU: number; readonly limitBytesInGPU: number };
  /** What nvidia-smi saw taken: by this process before the build, and the most on top of that while it went on. */
  readonly takenBefore: number;
  readonly takenMeanwhile: number;
  /** By this process in the end. */
  readonly taken: number;
  readonly totalBytes: number;
}

const NETS = {
  convolutions: () => convNet({ batch: 16, size: 64, channels: 64, layers: 4 }),
  /** 100 MiB of weights, hardly anything else. */
  heavy: () => denseNet({ rows: 1, width: 5120, layers: 1 }),
};

/** Builds for a net with the limits, and has it predict. */
export async function build({
  net: name,
  configuration,
}: {
  net: keyof typeof NETS;
  configuration: tftrt.Configuration;
}): Promise<Built> {
  const before = usedBytes();
  tftrt.configure(configuration);
  await tf.setBackend('tftrt');
  const net = NETS[name]();
  const model = await net.load();
  const expected = await predictSeed(model, net, 2);
  const takenBefore = usedBytes() - before;
  const sampler = sampleUsedBytes();
  const outcome = await buildOf(model, net);
  const takenMeanwhile = (await sampler.stop()) - before - takenBefore;
  const runs = tftrt.stats().tiers.tensorrt;
  const error = relativeError(await predictSeed(model, net, 2), expected);
  const result = {
    ...outcome,
    error,
    predictionsByEngine: tftrt.stats().tiers.tensorrt - runs,
    memory: tf.memory() as unknown as Built['memory'],
    takenBefore,
    takenMeanwhile,
    taken: usedBytes() - before,
    totalBytes: queryBytes('memory.total'),
  };
  model.dispose();
  return result;
}

async function buildOf(model: tf.GraphModel, net: Net): Promise<Pick<Built, 'report' | 'refused'>> {
  const sample = tensors(net, 1);
  try {
    const report = await tftrt.build(model, { inputs: [sample], cache: false, force: true });
    const { serving, reason, engines, profiles } = report;
    return {
      report: { serving, reason, engines: engines.length, buildMemory: profiles[0]!.buildMemory },
    };
  } catch (error) {
    if (!(error instanceof tftrt.TftrtError)) throw error;
    return { refused: { code: error.code, message: error.message } };
  } finally {
    tf.dispose(sample);
  }
}

/** Notes the most memory that all processes hold of the GPU, again and again, until it is stopped. */
function sampleUsedBytes(): { stop(): Promise<number> } {
  let most = usedBytes();
  let stopped = false;
  const sampling = (async () => {
    while (!stopped) most = Math.max(most, await usedBytesAsync());
  })();
  return {
    async stop() {
      stopped = true;
      await sampling;
      return most;
    },
  };
}
