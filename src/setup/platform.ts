import fs from 'node:fs';
import { SetupError } from '../errors';

/**
 * The newest versions that the addon and TensorFlow ask of glibc (GLIBC) and of GCC's libstdc++ (the others); 3.4.21 came with
 * GCC 5. Node.js 20 asks for more: glibc 2.28. Measured by test/setup/platform.test.ts.
 */
export const NEEDED_OF_SYSTEM: Readonly<Record<'GLIBC' | 'GLIBCXX' | 'CXXABI', string>> = {
  GLIBC: '2.17',
  GLIBCXX: '3.4.21',
  CXXABI: '1.3.9',
};

/** What decides whether TensorFlow can run at all. */
export interface Machine {
  /** As Node.js names them. */
  readonly system: string;
  readonly architecture: string;
  /** Of the processor; empty where they are not known. */
  readonly cpuFeatures: string;
}

/** Why this package cannot run somewhere, which nothing that could be installed changes. */
export interface PlatformComplaint {
  readonly problem: string;
  readonly remedy: string;
}

export function thisMachine(): Machine {
  const { platform: system, arch: architecture } = process;
  return { system, architecture, cpuFeatures: system === 'linux' ? cpuFeatures() : '' };
}

export function complaintAboutMachine(machine: Machine = thisMachine()): PlatformComplaint | undefined {
  const { system, architecture, cpuFeatures } = machine;
  if (system !== 'linux' || architecture !== 'x64') {
    return {
      problem: `This is ${system} on ${architecture}, and TensorFlow's libraries are for Linux on x64.`,
      remedy:
        "Use Linux on x64, in a container or a virtual machine for one, or another backend, such as tfjs's `cpu`.",
    };
  }
  if (cpuFeatures !== '' && !/\bavx\b/.test(cpuFeatures)) {
    return {
      problem:
        'This processor has no AVX, and TensorFlow ends the process where there is none: it is compiled for it.',
      remedy:
        "Use a processor with AVX; a virtual machine may have to be given it (`-cpu host` of QEMU's, for one).",
    };
  }
  return undefined;
}

/** Of a machine of the right kind; takes its version of glibc, or undefined where the C library is another one. */
export function complaintAboutLibc(glibc: string | undefined): PlatformComplaint | undefined {
  if (glibc === undefined) {
    return {
      problem: "The C library here is not glibc, which TensorFlow's libraries need. (Alpine's is musl.)",
      remedy:
        'Use a Linux with glibc, such as Debian, Ubuntu or Red Hat; of the images of Node.js, one without `alpine`.',
    };
  }
  if (isOlder(glibc, NEEDED_OF_SYSTEM.GLIBC)) {
    return {
      problem: `The C library here is glibc ${glibc}, and TensorFlow's libraries need ${NEEDED_OF_SYSTEM.GLIBC} or later.`,
      remedy: 'Use a newer release of this Linux, or a container with one.',
    };
  }
  return undefined;
}

/** All of this machine. */
export function complaintAboutPlatform(): PlatformComplaint | undefined {
  return complaintAboutMachine() ?? complaintAboutLibc(glibcVersion());
}

/** Throws where there is a complaint. */
export function refuse(complaint: PlatformComplaint | undefined): void {
  if (complaint === undefined) return;
  throw new SetupError('TFTRT_PLATFORM_UNSUPPORTED', complaint.problem, complaint.remedy);
}

/** From Node.js's diagnostic report, the one place where it tells: takes some 10 ms. */
function glibcVersion(): string | undefined {
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork?: boolean };
  const before = report.excludeNetwork;
  report.excludeNetwork = true; // it would look up names of hosts
  try {
    return (report.getReport() as { header?: { glibcVersionRuntime?: string } }).header?.glibcVersionRuntime;
  } finally {
    report.excludeNetwork = before;
  }
}

/** Of the first processor: the beginning of a file that is long where there are many. */
function cpuFeatures(): string {
  try {
    const file = fs.openSync('/proc/cpuinfo', 'r');
    try {
      const text = Buffer.alloc(8192);
      const length = fs.readSync(file, text);
      return /^flags\s*:(.*)$/m.exec(text.toString('latin1', 0, length))?.[1] ?? '';
    } finally {
      fs.closeSync(file);
    }
  } catch {
    return '';
  }
}

/** Compares versions such as 2.17, by their numbers. */
function isOlder(version: string, needed: string): boolean {
  return version.localeCompare(needed, 'en', { numeric: true }) < 0;
}
