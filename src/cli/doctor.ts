import fs from 'node:fs';
import path from 'node:path';
import { currentConfiguration } from '../config';
import { loadLibraryLoader } from '../setup/load_addon';
import {
  addonFile,
  INSTALL,
  locateTensorFlow,
  packageRoot,
  packageVersion,
  tensorFlowPlace,
} from '../setup/paths';
import { complaintAboutPlatform } from '../setup/platform';
import { type Check, type Complaint, type Diagnosis, isWell } from './check';
import { checkDevices, tryDevices } from './device_checks';
import { checkGpuLibraries, GPU_NOT_NEEDED } from './gpu_checks';
import { complaintOf } from './probe';
import { visibleGpus } from './visible_gpus';

/** Checks all that the backend needs, and computes on each device. Never throws; changes nothing. */
export async function diagnose(): Promise<Diagnosis> {
  const { engines } = require(path.join(packageRoot, 'package.json'));
  const complaints: Complaint[] = [];
  const say = (complaint: Complaint): void => {
    if (!complaints.some(({ problem }) => problem === complaint.problem)) complaints.push(complaint);
  };

  const device = checkSetting(say);
  const onGpu = device.status === 'ok' && device.version !== 'cpu';
  const first = [checkNode(engines.node), checkAddon(say), checkTensorFlow(say)];
  const libraries = onGpu ? await checkGpuLibraries(say) : GPU_NOT_NEEDED;
  const tried = await tryDevices(['cpu', ...(onGpu ? visibleGpus() : [])]);
  const devices = checkDevices(tried, say);
  const checks = [
    ...first.map((row) => withOutcome(row, tried.tensorFlowVersion, complaints)),
    ...(device.status === 'ok' ? [] : [device]),
    ...libraries,
    ...devices,
  ];
  return { ok: checks.every(isWell), checks, complaints };
}

/** The device that the backend would compute on, as the row's version. */
function checkSetting(say: (complaint: Complaint) => void): Check {
  const name = 'TFTRT_DEVICE';
  try {
    return { name, status: 'ok', version: currentConfiguration().devices[0]! };
  } catch (error) {
    const complaint = { ...complaintOf(error), remedy: 'Set TFTRT_DEVICE to one of these, or unset it.' };
    say(complaint);
    return row({ name, status: 'wrong' }, complaint);
  }
}

function checkNode(needed: string): Check {
  const version = process.versions.node;
  const node = { name: 'Node.js', version, path: process.execPath };
  const complaint = complaintAboutPlatform();
  if (complaint !== undefined) return { ...node, status: 'wrong', ...complaint };
  const [major, minor] = version.split('.').map(Number) as [number, number];
  const [leastMajor, leastMinor] = needed.match(/\d+/g)!.map(Number) as [number, number];
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return { ...node, status: 'ok' };
  return {
    ...node,
    status: 'wrong',
    problem: `Node.js ${version} is too old: ${needed} is needed.`,
    remedy: `Install Node.js ${needed}.`,
  };
}

/** Whether the addon's part without dependencies loads, and the other is there: computing tells about that. */
function checkAddon(say: (complaint: Complaint) => void): Check {
  const name = 'addon';
  const loader = addonFile('tftrt_loader');
  const file = addonFile('tftrt');
  try {
    loadLibraryLoader();
  } catch (error) {
    const complaint = complaintOf(error);
    say(complaint);
    return row({ name, status: fs.existsSync(loader) ? 'wrong' : 'missing', path: loader }, complaint);
  }
  if (fs.existsSync(file)) return { name, status: 'ok', version: packageVersion(), path: file };
  const problem = `The addon ${file} is not there.`;
  return { name, status: 'missing', path: file, problem, remedy: `To get it, run ${INSTALL}.` };
}

function checkTensorFlow(say: (complaint: Complaint) => void): Check {
  const name = 'TensorFlow';
  const { directory } = tensorFlowPlace();
  try {
    const { version } = locateTensorFlow();
    return { name, status: 'ok', ...(version === null ? {} : { version }), path: directory };
  } catch (error) {
    const complaint = complaintOf(error);
    say(complaint);
    const isMissing = complaint.code === 'TFTRT_TENSORFLOW_MISSING';
    return row({ name, status: isMissing ? 'missing' : 'wrong', path: directory }, complaint);
  }
}

/** Which row the code of an exception is about that only shows at the start of the backend. */
const ROWS_OF_CODES: readonly (readonly [RegExp, string])[] = [
  [/^TFTRT_TENSORFLOW_/, 'TensorFlow'],
  [/^TFTRT_ADDONS?_/, 'addon'],
];

/** A row, with what computing told about it. */
function withOutcome(
  check: Check,
  tensorFlowVersion: string | undefined,
  complaints: readonly Complaint[],
): Check {
  if (check.status !== 'ok') return check;
  const complaint = complaints.find(({ code }) =>
    ROWS_OF_CODES.some(([pattern, name]) => name === check.name && pattern.test(code)),
  );
  if (complaint !== undefined) return row({ ...check, status: 'wrong' }, complaint);
  const isTensorFlow = check.name === 'TensorFlow' && tensorFlowVersion !== undefined;
  return isTensorFlow ? { ...check, version: tensorFlowVersion } : check;
}

function row(check: Check, { problem, remedy }: Complaint): Check {
  return { ...check, problem, remedy };
}
