import fs from 'node:fs';
import path from 'node:path';
import { TftrtError } from '../errors';
import {
  CUDA_LIBRARIES,
  findLibraries,
  type GpuLibrary,
  gpuLibrariesHome,
  TENSORRT_LIBRARIES,
  TENSORRT_NAMES,
} from './gpu_libraries';
import { installFolder } from './install_folder';
import { downloadArtifact } from './maven';
import { addonFile, TENSORFLOW_VERSION, type TensorFlowInstallation } from './paths';
import { installWithPip, WHEELS_FOR_TENSORFLOW } from './pip';
import { runStep } from './run_step';

/** NVIDIA's libraries of TensorRT 8.6.1 for CUDA 12, whole; PyPI has only part of them. */
const TENSORRT_JAR = {
  group: 'org.bytedeco',
  name: 'tensorrt',
  version: '8.6-1.5.10',
  classifier: 'linux-x86_64-redist',
};

/** Brings the libraries that a GPU takes, unless they are there or installed somewhere on this machine. */
export async function ensureGpuLibraries(tensorflow: TensorFlowInstallation): Promise<void> {
  await ensureCuda(tensorflow);
  await ensureTensorRt();
}

async function ensureCuda(tensorflow: TensorFlowInstallation): Promise<void> {
  if (findLibraries(CUDA_LIBRARIES).missing.length === 0) return;
  const home = gpuLibrariesHome();
  await installWithPip({
    requirements: cudaRequirements(tensorflow),
    folder: path.join(home, 'nvidia'),
    part: 'nvidia',
    title: `installing CUDA 12.3 and cuDNN 8.9 into ${path.join(home, 'nvidia')}`,
    usually: '2 to 10 minutes; 1.8 GB to download, 3 GB on disk',
    options: WHEELS_FOR_TENSORFLOW,
    isWhole: () => isWhole(home, CUDA_LIBRARIES),
  });
}

/** The packages of the wheel's extra `and-cuda`, as the wheel itself names them. */
export function cudaRequirements(tensorflow: TensorFlowInstallation): string[] {
  const metadata = path.join(tensorflow.home, `tensorflow-${TENSORFLOW_VERSION}.dist-info`, 'METADATA');
  const text = fs.existsSync(metadata) ? fs.readFileSync(metadata, 'utf8') : '';
  const lines = text.matchAll(/^Requires-Dist: ([\w.-]+) ?\(?==([\w.]+)\)? ?; ?extra == ['"]and-cuda['"]/gm);
  const requirements = [...lines].map(([, name, version]) => `${name}==${version}`);
  if (requirements.length > 0) return requirements;
  throw new TftrtError(
    'TFTRT_SETUP_CUDA',
    `${metadata} does not say which CUDA libraries this TensorFlow needs (its extra \`and-cuda\`). Install CUDA 12.3 and cuDNN 8.9 yourself, ` +
      'or unset TFTRT_TENSORFLOW, so that set-up brings TensorFlow too; then run the same command again.',
  );
}

async function ensureTensorRt(): Promise<void> {
  if (findLibraries(TENSORRT_LIBRARIES).missing.length === 0) return;
  const home = gpuLibrariesHome();
  const folder = path.join(home, 'tensorrt');
  const title = `installing TensorRT 8.6.1 into ${folder}`;
  await installFolder(
    { folder, title, isWhole: () => isWhole(home, TENSORRT_LIBRARIES) },
    async (partial) => {
      const jar = await downloadArtifact(TENSORRT_JAR, partial, {
        title,
        usually: '1 to 5 minutes; 800 MB to download, 1.3 GB on disk',
      });
      await runStep({
        title: 'unpacking TensorRT',
        usually: 'less than a minute',
        command: 'python3',
        args: ['-m', 'zipfile', '--extract', jar, partial],
        errorCode: 'TFTRT_SETUP_MAVEN',
        remedy: `Check the free space in ${home}, then run the same command again.`,
      });
      const content = path.join(partial, ...TENSORRT_JAR.group.split('.'), 'tensorrt', 'linux-x86_64');
      addAliases(content);
      return content;
    },
  );
}

/** Gives TensorRT's libraries their second names, those that TensorFlow asks for. */
export function addAliases(folder: string): void {
  for (const { file, alias } of TENSORRT_LIBRARIES) {
    const isThere = fs.existsSync(path.join(folder, file));
    if (alias !== undefined && isThere) fs.symlinkSync(file, path.join(folder, alias));
  }
}

/** Puts the library that makes TensorRT's names known (see gpu_libraries.ts) beside a TensorRT in the cache. */
export function addTensorRtNames(): void {
  const folder = path.join(gpuLibrariesHome(), 'tensorrt');
  if (!fs.existsSync(folder)) return;
  const target = path.join(folder, TENSORRT_NAMES);
  const source = path.join(path.dirname(addonFile('tftrt')), TENSORRT_NAMES);
  // Without the addon nothing runs yet; it is done once that is there.
  if (!fs.existsSync(source)) return;
  const built = fs.readFileSync(source);
  if (fs.existsSync(target) && fs.readFileSync(target).equals(built)) return;
  // A process may have the old file mapped: a new one takes its place.
  fs.writeFileSync(`${target}.${process.pid}`, built);
  fs.renameSync(`${target}.${process.pid}`, target);
}

function isWhole(home: string, libraries: readonly GpuLibrary[]): boolean {
  return findLibraries(libraries, { homes: [home], folders: [] }).missing.length === 0;
}
