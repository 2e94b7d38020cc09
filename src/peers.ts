// Imported before all that imports TensorFlow.js: where that is missing or another version, one error says so.
import { TftrtError } from './errors';
import './setup/paths'; // in a bundle, that is what to say first

/** As in package.json. */
const WANTED = '^4.22.0';
/** The minor version of 4 that this package is tested with, and the first one that has all that it calls. */
const TESTED = 22;
const OLDEST = 10;

let warned = false;

requirePeer('@tensorflow/tfjs-core', () => require('@tensorflow/tfjs-core').version_core);
requirePeer('@tensorflow/tfjs-converter', () => require('@tensorflow/tfjs-converter').version_converter);

/** `load` loads the package and returns its version. */
export function requirePeer(name: string, load: () => string | undefined): void {
  const version = loaded(load);
  // Stand-ins that tests of programs put in a package's place have none.
  if (typeof version !== 'string') return;
  const [major, minor] = version.split('.').map(Number) as [number, number];
  if (major === 4 && minor >= TESTED) return;
  const found = `${name} is installed in version ${version}`;
  if (major !== 4 || minor < OLDEST) {
    const message = `${found}, and tfjs-backend-tftrt needs ${WANTED}. ${howToInstall()}`;
    throw new TftrtError('TFTRT_TFJS_VERSION', message);
  }
  if (!warned)
    console.warn(`tftrt: ${found}; tfjs-backend-tftrt is tested with ${WANTED}. ${howToInstall()}`);
  warned = true;
}

function loaded(load: () => string | undefined): string | undefined {
  try {
    return load();
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const [, missing] = /^Cannot find module '(@tensorflow\/[^']+)'/.exec(message) ?? [];
    if (code !== 'MODULE_NOT_FOUND' || missing === undefined) throw cause;
    throw new TftrtError(
      'TFTRT_TFJS_MISSING',
      `The package ${missing} is not installed, and tfjs-backend-tftrt needs it. Run \`npm install @tensorflow/tfjs@${WANTED}\`.`,
      { cause },
    );
  }
}

/** All of TensorFlow.js in one version: with two, there would be two engines. */
function howToInstall(): string {
  let packages = ['tfjs'];
  try {
    require.resolve('@tensorflow/tfjs');
  } catch {
    packages = ['tfjs-core', 'tfjs-converter'];
  }
  const names = packages.map((name) => `@tensorflow/${name}@${WANTED}`);
  return `Run \`npm install ${names.join(' ')}\`; \`npm ls @tensorflow/tfjs-core\` says who asks for another version.`;
}
