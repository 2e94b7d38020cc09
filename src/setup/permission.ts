// What Node.js forbids a process that was started with --permission or --no-addons.

import { SetupError } from '../errors';

/** What it may be, by Node.js's names: in words, and the option that allows it. */
const FORBIDDEN: Readonly<Record<string, { what: string; option: string }>> = {
  FileSystemRead: { what: 'to read', option: '--allow-fs-read' },
  FileSystemWrite: { what: 'to write', option: '--allow-fs-write' },
  ChildProcess: { what: 'to start', option: '--allow-child-process' },
  WorkerThreads: { what: 'to start a thread', option: '--allow-worker' },
};

interface AccessDenied extends NodeJS.ErrnoException {
  /** What is forbidden. */
  readonly permission?: string;
  /** The file, for one. */
  readonly resource?: string;
}

/** Runs `work`; where Node.js forbids it something, the error says what to allow. */
export function sayingPermission<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw asPermissionError(error);
  }
}

/** The error for what Node.js forbids; others as they are. */
export function asPermissionError(error: unknown): unknown {
  const { code, permission, resource } = error as AccessDenied;
  if (code === 'ERR_DLOPEN_DISABLED') return addonsDisabled(error);
  if (code !== 'ERR_ACCESS_DENIED') return error;
  const { what, option } = FORBIDDEN[permission ?? ''] ?? {
    what: `what it calls ${permission}:`,
    option: '--allow-…',
  };
  const takesPath = option.startsWith('--allow-fs') && resource;
  const all =
    ' The backend reads the folders of its package and of TensorFlow, /proc, /dev and, on a GPU, where NVIDIA\'s libraries are; --allow-fs-read="*" allows them all.';
  return new SetupError(
    'TFTRT_PERMISSION',
    `Node.js was started with --permission, and does not allow this process ${[what, resource].filter(Boolean).join(' ')}.`,
    `Start node with ${takesPath ? `${option}=${resource}` : option} too.${permission === 'FileSystemRead' ? all : ''}`,
    { cause: error, hint: '' },
  );
}

function addonsDisabled(cause: unknown): SetupError {
  const hasPermissions = 'permission' in process && process.permission !== undefined;
  return new SetupError(
    'TFTRT_ADDONS_DISABLED',
    `Node.js was started ${hasPermissions ? 'with --permission, but without --allow-addons' : 'with --no-addons'}, and does not load addons then; the backend is one.`,
    hasPermissions
      ? 'Start node with --allow-addons too.'
      : 'Start node without --no-addons; look in the environment variable NODE_OPTIONS too.',
    { cause, hint: '' },
  );
}
