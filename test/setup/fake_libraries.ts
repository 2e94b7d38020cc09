import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { CUDA_LIBRARIES, TENSORRT_LIBRARIES } from '#src/setup/gpu_libraries';

/** What the fake libraries answer when they are asked for their version. */
export interface FakeVersions {
  readonly cudnn?: number;
  readonly tensorRt?: number;
}

/** Makes a library with functions in C. */
export function makeLibrary(file: string, source = ''): void {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const args = ['-shared', '-fPIC', '-nostdlib', '-x', 'c++', '-', `-Wl,-soname,${path.basename(file)}`];
  execFileSync('g++', [...args, '-o', file], {
    input: `extern "C" { ${source} }`,
    stdio: ['pipe', 'inherit', 'inherit'],
  });
}

/** Makes one flat folder with libraries that have the names of CUDA's and TensorRT's. */
export function makeGpuLibraries(folder: string, { cudnn = 8907, tensorRt = 8601 }: FakeVersions = {}): void {
  const sources: Record<string, string> = {
    'libcudnn.so.8': `unsigned long cudnnGetVersion() { return ${cudnn}; }`,
    'libnvinfer.so.8': `int getInferLibVersion() { return ${tensorRt}; }`,
  };
  for (const { file } of [...CUDA_LIBRARIES, ...TENSORRT_LIBRARIES]) {
    makeLibrary(path.join(folder, file), sources[file]);
  }
}

/** Makes a driver that can do some version of CUDA. */
export function makeDriver(folder: string, version: number): void {
  const source = `int cuDriverGetVersion(int* version) { *version = ${version}; return 0; }`;
  makeLibrary(path.join(folder, 'libcuda.so.1'), source);
}
