import fs from 'node:fs';
import path from 'node:path';
import {
  CUDA_LIBRARIES,
  describeMissingLibrary,
  findLibraries,
  type GpuLibrary,
  howToGetGpuLibraries,
  TENSORRT_LIBRARIES,
} from '../setup/gpu_libraries';
import type { Check, Complaint } from './check';
import { probe } from './probe';
import type { ProbedLibraries } from './probe_libraries';

/** The rows where nothing is to be computed on a GPU. */
export const GPU_NOT_NEEDED: readonly Check[] = [
  'NVIDIA driver',
  'GPUs',
  'CUDA libraries',
  'cuDNN',
  'TensorRT',
].map((name) => ({ name, status: 'not needed' }));

/** cuDNN is several files, but one thing. */
const isCudnn = ({ file }: GpuLibrary) => file.startsWith('libcudnn');

/** Rows for the driver, each CUDA library, cuDNN and TensorRT. */
export async function checkGpuLibraries(say: (complaint: Complaint) => void): Promise<Check[]> {
  const outcome = await probe<ProbedLibraries>('probe_libraries');
  const probed = 'result' in outcome ? outcome.result : undefined;
  const complaints = probed
    ? [probed.cuda, probed.tensorRt].filter((complaint) => complaint !== undefined)
    : [(outcome as { complaint: Complaint }).complaint];
  for (const complaint of complaints) say(complaint);

  const row = (name: string, libraries: readonly GpuLibrary[], version?: string) =>
    checkLibraries(name, libraries, complaints, version);
  return [
    checkDriver(probed),
    ...CUDA_LIBRARIES.filter((library) => !isCudnn(library)).map((library) => row(library.file, [library])),
    row('cuDNN', CUDA_LIBRARIES.filter(isCudnn), cudnnVersion(probed?.cudnnVersion)),
    row('TensorRT', TENSORRT_LIBRARIES, tensorRtVersion(probed?.tensorRtVersion)),
  ];
}

function checkDriver(probed: ProbedLibraries | undefined): Check {
  const name = 'NVIDIA driver';
  if (probed === undefined) return { name, status: 'wrong', problem: 'It could not be tried.' };
  const version = driverVersion();
  const cuda = probed.driverCuda === null ? undefined : `can do CUDA ${cudaVersion(probed.driverCuda)}`;
  const row = { name, ...(version && { version }), ...(cuda && { path: cuda }) };
  if (probed.driver === undefined) return { ...row, status: 'ok' };
  return { ...row, status: probed.driverCuda === null ? 'missing' : 'wrong', ...probed.driver };
}

/** The driver's own version, such as 545.23.08. */
function driverVersion(): string | undefined {
  try {
    return /Module\s+(?:for x86_64\s+)?(\d[\d.]*)/.exec(
      fs.readFileSync('/proc/driver/nvidia/version', 'utf8'),
    )?.[1];
  } catch {
    return undefined;
  }
}

/** A row for one or several files. */
function checkLibraries(
  name: string,
  libraries: readonly GpuLibrary[],
  complaints: readonly Complaint[],
  version?: string,
): Check {
  const { found, missing } = findLibraries(libraries);
  if (missing.length > 0) {
    const first = missing[0]!.expected;
    const isThere = missing.some(({ otherVersions, damaged }) => otherVersions.length + damaged.length > 0);
    return {
      name,
      status: isThere ? 'wrong' : 'missing',
      path: missing.length === 1 ? first : `${missing.length} files in ${path.dirname(first)}`,
      problem: missing.map(describeMissingLibrary).join('').trimEnd(),
      remedy: howToGetGpuLibraries(),
    };
  }
  const files = [...found.values()];
  const row = {
    name,
    ...definedVersion(version ?? versionOfFile(files[0]!)),
    path: files.length === 1 ? files[0]! : path.dirname(files[0]!),
  };
  // An exception that names the file: it is damaged, or of a version that only shows when it is asked.
  const complaint = complaints.find(
    ({ code, problem }) =>
      /_(LOAD|VERSION)$/.test(code) &&
      [...files, ...(name === 'TensorRT' ? [row.path] : [])].some(
        (file) => problem.includes(`${file} `) || problem.includes(`${file},`),
      ),
  );
  return complaint === undefined
    ? { ...row, status: 'ok' }
    : { ...row, status: 'wrong', problem: complaint.problem, remedy: complaint.remedy };
}

function definedVersion(version: string | undefined): { version?: string } {
  return version === undefined ? {} : { version };
}

/** What a file's real name says: libcudart.so.12.3.101. NVIDIA's wheels name only the major version. */
function versionOfFile(file: string): string | undefined {
  return /\.so\.(\d[\d.]*)$/.exec(fs.realpathSync(file))?.[1];
}

/** 12030 is 12.3. */
function cudaVersion(version: number): string {
  return `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
}

/** 8907 is 8.9.7. */
function cudnnVersion(version: number | null | undefined): string | undefined {
  return version == null
    ? undefined
    : `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 100)}.${version % 100}`;
}

/** 8601 is 8.6.1. */
const tensorRtVersion = cudnnVersion;
