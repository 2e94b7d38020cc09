import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { SetupError, TftrtError } from '../errors';
import { sayingPermission } from './permission';
import { damageOf } from './shared_library';

/** The one version of TensorFlow that the addon is built and tested with: the last release with TF-TRT. */
export const TENSORFLOW_VERSION = '2.17.1';

const ownPackage = findPackage();

/** The folder of this package: it holds package.json, native/ and the built addon. */
export const packageRoot = ownPackage.folder;

/** The version of this package. */
export function packageVersion(): string {
  return ownPackage.version;
}

/** From this file up; throws where a bundler has put it into a file elsewhere. */
function findPackage(): { readonly folder: string; readonly version: string } {
  try {
    const folder = path.resolve(__dirname, '..', '..');
    const { name, version } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
    if (name === 'tfjs-backend-tftrt') return { folder, version };
  } catch {
    // No such file, or no `__dirname`: the bundle is an ES module.
  }
  throw new TftrtError(
    'TFTRT_BUNDLED',
    'The package tfjs-backend-tftrt was bundled, and its addon and other files are not beside the bundle. Keep tfjs-backend-tftrt ' +
      'and @tensorflow/* external (esbuild: --packages=external), and installed where the bundle runs.',
  );
}

/** The file of a built addon. TFTRT_ADDON_DIR names another build than the usual one, such as one with a sanitizer. */
export function addonFile(name: 'tftrt' | 'tftrt_loader'): string {
  return path.join(process.env.TFTRT_ADDON_DIR ?? path.join(packageRoot, 'build', 'Release'), `${name}.node`);
}

/** The folder for what is shared between checkouts and processes: libraries, downloaded models, engines. */
export function cacheDir(): string {
  const { TFTRT_CACHE_DIR: own, XDG_CACHE_HOME: shared } = process.env;
  if (own) return path.resolve(own);
  // The XDG rules say that a relative path is to be ignored.
  return path.join(shared && path.isAbsolute(shared) ? shared : path.join(homeFolder(), '.cache'), 'tftrt');
}

/** What HOME names or, where that is nothing useful, the user's entry in the system's list. */
function homeFolder(): string {
  try {
    const home = os.homedir();
    return path.isAbsolute(home) ? home : os.userInfo().homedir;
  } catch (cause) {
    // Containers run programs as users that are on no list.
    throw new TftrtError(
      'TFTRT_NO_HOME',
      'There is no folder for what is installed: the environment variable HOME is not set, and the system knows no home of ' +
        `the user ${process.getuid!()}. Set HOME, or TFTRT_CACHE_DIR to a folder that this user may write to.`,
      { cause },
    );
  }
}

/** The command that brings what is missing. npx finds it from the folder of any project that has this package. */
export const INSTALL = "`npx tftrt install` in your project's folder";

/** Where an installation of TensorFlow has what this package uses. */
export interface TensorFlowInstallation {
  /** The folder that holds `tensorflow/` and, for a GPU, `nvidia/` and `tensorrt/` beside it. */
  readonly home: string;
  /** The `tensorflow` folder. */
  readonly directory: string;
  readonly libraries: { readonly framework: string; readonly cc: string };
  readonly includeDir: string;
  /** Null when the installation does not say it; the loaded library always does. */
  readonly version: string | null;
}

/** Where TensorFlow should be, whether or not it is there. */
export interface TensorFlowPlace {
  readonly home: string;
  readonly directory: string;
  /** True when the environment variable TFTRT_TENSORFLOW names it, false for the folder in the cache. */
  readonly chosenByUser: boolean;
}

/** The installation that TFTRT_TENSORFLOW names (a folder holding `tensorflow/`, or that folder), or the one in the cache. */
export function tensorFlowPlace(): TensorFlowPlace {
  const chosen = process.env.TFTRT_TENSORFLOW;
  if (!chosen) {
    const home = path.join(cacheDir(), `tensorflow-${TENSORFLOW_VERSION}`);
    return { home, directory: path.join(home, 'tensorflow'), chosenByUser: false };
  }
  const folder = path.resolve(chosen);
  const isPackageItself =
    !fs.existsSync(path.join(folder, 'tensorflow')) &&
    (path.basename(folder) === 'tensorflow' ||
      fs.existsSync(path.join(folder, 'libtensorflow_framework.so.2')));
  return isPackageItself
    ? { home: path.dirname(folder), directory: folder, chosenByUser: true }
    : { home: folder, directory: path.join(folder, 'tensorflow'), chosenByUser: true };
}

/**
 * Finds TensorFlow's libraries, and for `build` its headers too. Throws one error that lists each missing file
 * (`TFTRT_TENSORFLOW_MISSING`) or each that this user may not read (`TFTRT_TENSORFLOW_UNREADABLE`), names the version found (`TFTRT_TENSORFLOW_VERSION`), or each file that is cut off or no
 * library (`TFTRT_TENSORFLOW_DAMAGED`).
 */
export function locateTensorFlow(need: 'run' | 'build' = 'run'): TensorFlowInstallation {
  return sayingPermission(() => locate(need));
}

function locate(need: 'run' | 'build'): TensorFlowInstallation {
  const place = tensorFlowPlace();
  const inside = (...names: string[]) => path.join(place.directory, ...names);
  const libraries = {
    framework: inside('libtensorflow_framework.so.2'),
    cc: inside('libtensorflow_cc.so.2'),
  };
  const includeDir = inside('include');
  const files = Object.values(libraries);
  if (need === 'build') {
    files.push(inside('include', 'tensorflow', 'core', 'public', 'version.h'));
    files.push(inside('include', 'third_party', 'gpus', 'cuda', 'include', 'cuda.h'));
  }
  requireReadable(files, place.directory);
  const missing = files.filter((file) => !fs.existsSync(file));
  const source = place.chosenByUser
    ? `named by TFTRT_TENSORFLOW${whatIsWrong(place.home)}`
    : process.env.TFTRT_CACHE_DIR
      ? 'in the folder that TFTRT_CACHE_DIR names'
      : 'the default place';
  if (missing.length > 0) {
    throw new SetupError(
      'TFTRT_TENSORFLOW_MISSING',
      `TensorFlow ${TENSORFLOW_VERSION} is absent or incomplete in ${place.home} (${source}).` +
        missing.map((file) => `\n  missing: ${file}`).join(''),
      howToGetTensorFlow(),
    );
  }
  const version = installedVersion(place);
  if (version !== null && version !== TENSORFLOW_VERSION) {
    throw new SetupError(
      'TFTRT_TENSORFLOW_VERSION',
      `TensorFlow ${version} was found in ${place.home} (${source}), but ${TENSORFLOW_VERSION} is needed: ` +
        `the addon uses TensorFlow's C++ interface, which differs between versions.`,
      howToGetTensorFlow(),
    );
  }
  requireWhole(Object.values(libraries));
  return { home: place.home, directory: place.directory, libraries, includeDir, version };
}

/** For those who named the library itself, or mistyped. */
function whatIsWrong(home: string): string {
  if (!fs.existsSync(home)) return '; there is no such folder';
  return fs.statSync(home).isDirectory() ? '' : '; that is a file, not a folder';
}

/** What is in a folder that this user may not look into would be taken for missing. */
function requireReadable(files: readonly string[], directory: string): void {
  const unreadable = files.filter(isForbidden);
  if (unreadable.length === 0) return;
  throw new SetupError(
    'TFTRT_TENSORFLOW_UNREADABLE',
    `TensorFlow's files are not readable by this user (${process.getuid!()}):` +
      unreadable.map((file) => `\n  not readable: ${file}`).join(''),
    `Let this user read them and the folders that they are in (\`chmod -R a+rX ${directory}\`, for one), or set TFTRT_TENSORFLOW or ` +
      'TFTRT_CACHE_DIR to another folder.',
  );
}

function isForbidden(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.R_OK);
    return false;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_ACCESS_DENIED') throw error;
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

function requireWhole(libraries: readonly string[]): void {
  const damaged = libraries.flatMap((file) => {
    const damage = damageOf(file);
    return damage === null ? [] : [`\n  unusable: ${file} (${damage})`];
  });
  if (damaged.length === 0) return;
  throw new SetupError(
    'TFTRT_TENSORFLOW_DAMAGED',
    `TensorFlow's libraries cannot be used:${damaged.join('')}`,
    howToGetTensorFlow(),
  );
}

/** The sentence that ends every error about TensorFlow's libraries. */
export function howToGetTensorFlow(): string {
  const how = `set TFTRT_TENSORFLOW to an existing installation of TensorFlow ${TENSORFLOW_VERSION} (the site-packages folder that holds tensorflow/)`;
  return process.env.TFTRT_TENSORFLOW
    ? `To mend it, ${how}, or unset it and run ${INSTALL}.`
    : `To get it, run ${INSTALL}, or ${how}.`;
}

/** The version that an installation claims: by its headers, or by the folder that pip keeps beside it. */
export function installedVersion(place: Pick<TensorFlowPlace, 'home' | 'directory'>): string | null {
  try {
    const header = path.join(place.directory, 'include', 'tensorflow', 'core', 'public', 'version.h');
    const text = fs.readFileSync(header, 'utf8');
    const parts = ['MAJOR', 'MINOR', 'PATCH'].map(
      (part) => text.match(`#define TF_${part}_VERSION (\\d+)`)?.[1],
    );
    if (parts.every(Boolean)) return parts.join('.');
  } catch {
    // No headers: enough to run, and pip's folder may say the version.
  }
  try {
    const versions = fs
      .readdirSync(place.home)
      .map((name) => /^tensorflow(?:_cpu|_gpu)?-(\d.*)\.dist-info$/.exec(name)?.[1]);
    return versions.find((version) => version !== undefined) ?? null;
  } catch {
    return null;
  }
}
