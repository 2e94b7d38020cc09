#!/usr/bin/env node
// The command `tftrt`.

import fs from 'node:fs';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { TftrtError } from '../errors';
import { parseInstallArguments } from '../setup/install_arguments';
import { packageVersion } from '../setup/paths';
import { asPermissionError } from '../setup/permission';
import { InterruptedError } from '../setup/run_step';
import { diagnose } from './doctor';
import { runInstall } from './install';
import { renderDiagnosis } from './table';

const USAGE = `usage: tftrt COMMAND

  tftrt doctor [--json]
      Shows what the backend needs and what is there, and computes one op on each device.
      The exit code is 0 where all is well, else 1.
  tftrt install [--gpu] [--from FOLDER]
      Fetches TensorFlow through pip and, where a GPU is or with --gpu, CUDA (pip) and TensorRT (Maven),
      into the cache. With --from, links the libraries that FOLDER has (a site-packages, NVIDIA's packages
      or a flat folder) instead.
  tftrt --help
  tftrt --version
`;

/** The command line is wrong. */
class UsageError extends Error {}

const commands: Record<string, (args: string[]) => Promise<number>> = { doctor, install };

// Whoever reads the output may have read enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

async function doctor(args: string[]): Promise<number> {
  const { json } = parse(args, { json: { type: 'boolean' } });
  const diagnosis = await diagnose();
  const colours = Boolean(process.stdout.isTTY) && !process.env.NO_COLOR;
  process.stdout.write(
    json ? `${JSON.stringify(diagnosis, null, 2)}\n` : renderDiagnosis(diagnosis, colours),
  );
  return diagnosis.ok ? 0 : 1;
}

async function install(args: string[]): Promise<number> {
  const { gpu, from } = usable(() => parseInstallArguments(args));
  if (from !== undefined && (from === '' || isNoFolder(from))) {
    throw new UsageError(`--from '${from}' is no folder`);
  }
  await runInstall({ gpu, from });
  return 0;
}

/** Set-up says why a folder cannot be looked at. */
function isNoFolder(name: string): boolean {
  try {
    return !fs.statSync(name, { throwIfNoEntry: false })?.isDirectory();
  } catch {
    return false;
  }
}

function parse<T extends NonNullable<ParseArgsConfig['options']>>(args: string[], options: T) {
  return usable(() => parseArgs({ args, options }).values);
}

/** Where parsing fails, the command line is wrong. */
function usable<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** Runs a command line and returns the exit code. */
async function main([name, ...args]: string[]): Promise<number> {
  const has = (...options: string[]) => [name, ...args].some((word) => options.includes(word!));
  if (name === 'help' || has('--help', '-h')) {
    process.stdout.write(USAGE);
    return 0;
  }
  if (has('--version', '-v')) {
    process.stdout.write(`${packageVersion()}\n`);
    return 0;
  }
  try {
    if (name === undefined) throw new UsageError('a command is missing');
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (command === undefined) throw new UsageError(`'${name}' is no command`);
    return await command(args);
  } catch (thrown) {
    const error = asPermissionError(thrown);
    if (error instanceof UsageError) {
      process.stderr.write(`tftrt: ${error.message}\n\n${USAGE}`);
      return 2;
    }
    if (error instanceof InterruptedError) {
      process.stderr.write(`\ntftrt: ${error.message}\n`);
      return error.exitCode;
    }
    const { code, message } = error as NodeJS.ErrnoException;
    // Of the file system's errors the message says which file it was; others are faults of ours.
    if (!(error instanceof TftrtError) && code === undefined) throw error;
    const remedy =
      error instanceof TftrtError
        ? ''
        : '\nTFTRT_CACHE_DIR names another folder for what is installed, one that you may write to.';
    process.stderr.write(`\ntftrt: failed (${code}).\n${message}${remedy}\n`);
    return 1;
  }
}

main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
