import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { CUDA_LIBRARIES, TENSORRT_LIBRARIES } from '#src/setup/gpu_libraries';

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
export function makeGpuLibraries(folder: string): void {
  for (const { file } of [...CUDA_LIBRARIES, ...TENSORRT_LIBRARIES]) makeLibrary(path.join(folder, file));
  makeCudnn(folder, 8907);
  makeTensorRt(folder, 8601);
}

/** Makes a cuDNN that says to be of some version. */
export function makeCudnn(folder: string, version: number): void {
  makeLibrary(path.join(folder, 'libcudnn.so.8'), `unsigned long cudnnGetVersion() { return ${version}; }`);
}

/** Makes a TensorRT that says to be of some version. */
export function makeTensorRt(folder: string, version: number): void {
  makeLibrary(path.join(folder, 'libnvinfer.so.8'), `int getInferLibVersion() { return ${version}; }`);
}

/** Makes a driver that can do some version of CUDA. */
export function makeDriver(folder: string, version: number): void {
  const source = `int cuDriverGetVersion(int* version) { *version = ${version}; return 0; }`;
  makeLibrary(path.join(folder, 'libcuda.so.1'), source);
}
