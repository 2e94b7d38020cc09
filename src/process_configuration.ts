// TensorFlow's devices are the process's. Each thread has this package for itself, and so has each `vm` context: what the first
// of them makes the devices with holds for all.
import { isDeepStrictEqual } from 'node:util';
import { type Configuration, chosenOptions, deviceOptions, type ResolvedConfiguration } from './config';
import { TftrtError } from './errors';
import type { LibraryLoader } from './setup/load_tensorflow';

/**
 * Calls `start` with the process's configuration: what this thread wants, where it is the first, else what is there. Throws
 * `TFTRT_ALREADY_CONFIGURED` where `configure` was called in this thread with options that would make other devices.
 */
export function withProcessConfiguration<Result>(
  loader: LibraryLoader,
  wanted: ResolvedConfiguration,
  start: (configuration: ResolvedConfiguration) => Result,
): Result {
  const decided = loader.adoptConfiguration(JSON.stringify(wanted));
  if (decided !== null) return start(adopt(JSON.parse(decided), wanted.devices));
  try {
    return start(wanted);
  } catch (error) {
    // A later attempt, here or elsewhere, may be configured otherwise.
    loader.dropConfiguration();
    throw error;
  }
}

/** What was decided, with this thread's options where they leave the devices as they are: the defaults of `build`, for one. */
function adopt(decided: ResolvedConfiguration, ownDevices: readonly string[]): ResolvedConfiguration {
  const { device, devices, ...others } = chosenOptions();
  const own: Partial<ResolvedConfiguration> = others;
  if (device !== undefined || devices !== undefined) Object.assign(own, { devices: ownDevices });
  const made = deviceOptions(decided);
  const differences = Object.entries(own).filter(
    ([name, value]) => !isDeepStrictEqual(deviceOptions({ ...decided, [name]: value }), made),
  );
  if (differences.length === 0) return { ...decided, ...own };
  const list = differences.map(
    ([name, value]) =>
      `${name} is ${shown(value)} here and ${shown(decided[name as keyof Configuration])} there`,
  );
  throw new TftrtError(
    'TFTRT_ALREADY_CONFIGURED',
    `configure was called in this thread or context with other options than in the one that made TensorFlow's devices: ${list.join(', ')}. ` +
      'The devices are the same for the whole process and last as long as it. Call configure with the same options in all threads, or ' +
      'only in the one that uses the backend first: those that configure nothing use the devices that are there.',
  );
}

function shown(value: unknown): string {
  return value === undefined ? 'the default' : JSON.stringify(value);
}
