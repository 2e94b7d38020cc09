import fs from 'node:fs';

/** The driver's files for GPUs, `nvidia0` and so on. */
export function gpuFiles(folder = '/dev'): string[] {
  try {
    return fs.readdirSync(folder).filter((name) => /^nvidia\d+$/.test(name));
  } catch {
    return [];
  }
}

/**
 * The GPUs that this process may use, as `configure` takes them, by the driver's files and CUDA_VISIBLE_DEVICES; at least one,
 * so that trying it tells why there is none.
 */
export function visibleGpus(files: readonly string[] = gpuFiles()): string[] {
  const listed = process.env.CUDA_VISIBLE_DEVICES?.split(',').filter(Boolean).length;
  const count = Math.max(1, Math.min(files.length, listed ?? files.length));
  return Array.from({ length: count }, (_, i) => `gpu:${i}`);
}
