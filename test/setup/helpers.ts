import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { TftrtError } from '#src/errors';

/** Gives each test of the suite an empty folder of its own, and takes it away afterwards. */
export function useTemporaryFolder(): () => string {
  let folder: string;
  beforeEach(() => {
    // By its real path: it is compared with what the system says.
    folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'tftrt-test-')));
  });
  afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));
  return () => folder;
}

/** Sets environment variables in each test of the suite (undefined: unset), and puts them back afterwards. */
export function useEnvironment(variables: () => Record<string, string | undefined>): void {
  let saved: NodeJS.ProcessEnv;
  beforeEach(() => {
    saved = { ...process.env };
    for (const [name, value] of Object.entries(variables())) setVariable(name, value);
  });
  afterEach(() => {
    for (const name of Object.keys(process.env)) setVariable(name, saved[name]);
    Object.assign(process.env, saved);
  });
}

/** Sets or, with undefined, unsets an environment variable. */
export function setVariable(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}

/** Writes a file and the folders it is in. */
export function writeFile(file: string, content: string | Uint8Array = ''): void {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, content);
}

/** Writes the header of a shared library for x86-64: enough to be taken for one until it is opened. */
export function writeLibrary(file: string, note = ''): void {
  const header = Buffer.alloc(64);
  header.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]); // "\x7fELF", 64 bits, little-endian, version 1
  header.writeUInt16LE(3, 16); // a shared object
  header.writeUInt16LE(62, 18); // x86-64
  writeFile(file, Buffer.concat([header, Buffer.from(note)]));
}

/** Writes what a TensorFlow installation is recognised by, with libraries that cannot be loaded. */
export function fakeTensorFlow(home: string, version = '2.17.1'): void {
  const [major, minor, patch] = version.split('.');
  const inside = (name: string) => path.join(home, 'tensorflow', name);
  writeLibrary(inside('libtensorflow_cc.so.2'));
  writeLibrary(inside('libtensorflow_framework.so.2'));
  writeFile(inside('include/third_party/gpus/cuda/include/cuda.h'));
  writeFile(
    inside('include/tensorflow/core/public/version.h'),
    `#define TF_MAJOR_VERSION ${major}\n#define TF_MINOR_VERSION ${minor}\n#define TF_PATCH_VERSION ${patch}\n`,
  );
}

/** Copies the beginning of a file. */
export function cutOff(file: string, copy: string, bytes: number): void {
  const content = Buffer.alloc(bytes);
  const descriptor = fs.openSync(file, 'r');
  fs.readSync(descriptor, content, 0, bytes, 0);
  fs.closeSync(descriptor);
  writeFile(copy, content);
}

/** Expects a call to throw a TftrtError with a code, and returns the error. */
export function expectTftrtError(code: string, call: () => unknown): TftrtError {
  try {
    call();
  } catch (error) {
    expect(error).to.be.instanceOf(TftrtError).with.property('code', code);
    return error as TftrtError;
  }
  throw new Error(`expected an error with code ${code}, but nothing was thrown`);
}
