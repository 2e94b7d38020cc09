import { engine, getBackend, type KernelBackend, registerKernel } from '@tensorflow/tfjs-core';

/** What tfjs may ask for, or call, without wanting the backend to compute. */
const HARMLESS = new Map<string | symbol, unknown>([
  ['then', undefined],
  ['constructor', undefined],
  ['dispose', () => undefined],
  ['numDataIds', () => 0],
  ['refCount', () => 0],
  ['disposeData', () => true],
]);

/** A kernel that nobody calls: tfjs sets up all kernels of a backend when that becomes the active one. */
const KERNEL = 'TftrtUnavailable';

interface Refusal {
  readonly reason: Error;
  /** The getter of tfjs's engine makes a backend the active one too, with a promise that nobody waits for. */
  silent: boolean;
}

/** By the names of backends that cannot be used. */
const refusals = new Map<string, Refusal>();
const withKernel = new Set<string>();
let readyChecks = false;

/**
 * What a factory returns where the backend cannot be used: a stand-in whose every use throws the reason. An exception of the
 * factory would not do: tfjs makes it a warning, and goes on with another backend. `setBackend` and `ready` reject with the
 * reason, though tfjs lets only a kernel's set-up say that something is wrong.
 */
export function unavailableBackend(name: string, reason: Error): KernelBackend {
  refuse(name, reason);
  return new Proxy({} as KernelBackend, {
    get(_, property) {
      if (HARMLESS.has(property)) return HARMLESS.get(property);
      throw reason;
    },
  });
}

/** For the same backend under another name. */
export function shareAvailability(name: string, otherName: string): void {
  const refusal = refusals.get(name);
  if (refusal === undefined) isAvailable(otherName);
  else refuse(otherName, refusal.reason);
}

/** What could not be used before may be made anew, after `engine().reset()`. */
export function isAvailable(name: string): void {
  refusals.delete(name);
}

function refuse(name: string, reason: Error): void {
  // `setBackend` notes the name first; the getter sets the backend up right after it is made; `ready` waits in between.
  const refusal = { reason, silent: getBackend() !== name };
  queueMicrotask(() => {
    refusal.silent = false;
  });
  refusals.set(name, refusal);
  checkWhenReady();
  if (withKernel.has(name)) return;
  withKernel.add(name);
  const requireAvailable = () => {
    const now = refusals.get(name);
    if (now !== undefined && !now.silent) throw now.reason;
  };
  registerKernel({
    kernelName: KERNEL,
    backendName: name,
    kernelFunc: () => [],
    setupFunc: requireAvailable,
  });
}

/**
 * tfjs is ready once there is a backend, whatever that can do. Programs ask it to know whether they may start, or are in good
 * health: while the active backend cannot be used, `ready` rejects with the reason. With another backend it is tfjs's own.
 */
function checkWhenReady(): void {
  if (readyChecks) return;
  readyChecks = true;
  const tfjs = engine();
  const ready = tfjs.ready.bind(tfjs);
  tfjs.ready = async () => {
    await ready();
    const refusal = refusals.get(getBackend());
    if (refusal !== undefined) throw refusal.reason;
  };
}
