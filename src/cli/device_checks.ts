import type { Check, Complaint } from './check';
import { type Outcome, probe } from './probe';
import type { ProbedDevice } from './probe_device';
import { gpuFiles } from './visible_gpus';

/** What became of one op on each device. */
export interface TriedDevices {
  readonly outcomes: ReadonlyMap<string, Outcome<ProbedDevice>>;
  /** What the loaded library says. */
  readonly tensorFlowVersion?: string;
}

/** Computes on each device, each in a process of its own: TensorFlow's devices are made once for a process. */
export async function tryDevices(devices: readonly string[]): Promise<TriedDevices> {
  const all = await Promise.all(
    devices.map(async (device) => {
      const outcome = await probe<ProbedDevice>('probe_device', { TFTRT_DEVICE: device });
      return [device, outcome] as const;
    }),
  );
  const outcomes = new Map(all.filter(([device, outcome]) => !isNoDevice(device, outcome)));
  const result = [...outcomes.values()].map(resultOf).find(Boolean);
  return { outcomes, ...(result && { tensorFlowVersion: result.tensorFlowVersion }) };
}

/** The driver may show files of GPUs that CUDA does not let this process use: there are fewer than was thought then. */
function isNoDevice(device: string, outcome: Outcome<ProbedDevice>): boolean {
  const isFurther = device !== 'cpu' && device !== 'gpu:0';
  return isFurther && 'complaint' in outcome && outcome.complaint.problem.includes('visible device count is');
}

function resultOf(outcome: Outcome<ProbedDevice>): ProbedDevice | undefined {
  return 'result' in outcome ? outcome.result : undefined;
}

/** A row for the GPUs where they are wanted, and one for each device. */
export function checkDevices({ outcomes }: TriedDevices, say: (complaint: Complaint) => void): Check[] {
  const gpus = [...outcomes].filter(([device]) => device !== 'cpu');
  return [
    ...(gpus.length === 0 ? [] : [checkGpus(gpus.map(([, outcome]) => resultOf(outcome)))]),
    ...[...outcomes].map(([device, outcome]) => checkDevice(device, outcome, say)),
  ];
}

function checkGpus(results: readonly (ProbedDevice | undefined)[]): Check {
  const name = 'GPUs';
  const models = results.filter((result) => result !== undefined).map(modelOf);
  if (models.length > 0) {
    return { name, status: 'ok', version: String(results.length), path: [...new Set(models)].join(', ') };
  }
  const files = gpuFiles();
  if (files.length > 0) {
    const path = files.map((file) => `/dev/${file}`).join(', ');
    return { name, status: 'ok', version: String(results.length), path };
  }
  return {
    name,
    status: 'missing',
    problem: 'The driver shows no GPU: there is no /dev/nvidia0 or the like.',
    remedy:
      'In a container, start that with access to the GPU; on a machine without one, set TFTRT_DEVICE=cpu or unset it.',
  };
}

function checkDevice(
  device: string,
  outcome: Outcome<ProbedDevice>,
  say: (complaint: Complaint) => void,
): Check {
  const name = `one op on ${device}`;
  if ('complaint' in outcome) {
    const { code, problem, remedy } = outcome.complaint;
    say(outcome.complaint);
    // Nothing is wrong with a device that lacks what it computes with.
    return {
      name,
      status: code.endsWith('_MISSING') ? 'missing' : 'wrong',
      problem,
      ...(remedy && { remedy }),
    };
  }
  const version = `${Math.max(1, Math.round(outcome.result.ms))} ms`;
  return { name, status: 'ok', version, path: outcome.result.device };
}

/** TensorFlow's description is `device: 0, name: NVIDIA H200, pci bus id: …`. */
function modelOf({ description }: ProbedDevice): string {
  return /name: ([^,]+)/.exec(description)?.[1] ?? description;
}
