import { TftrtError } from '../errors';
import { install } from './install';
import { type InstallArguments, parseInstallArguments } from './install_arguments';
import { InterruptedError } from './run_step';

/**
 * `npm run setup`: all that a checkout needs to run, see install.ts. Ends the process when it cannot.
 */
export async function setUp(args: readonly string[] = []): Promise<void> {
  try {
    const { gpu, from } = parse(args);
    await install({ gpu, from, build: true });
  } catch (error) {
    if (!(error instanceof TftrtError)) throw error;
    if (error instanceof InterruptedError) {
      console.error(`\ntftrt: ${error.message}`);
      process.exit(error.exitCode);
    }
    console.error(`\ntftrt: set-up failed (${error.code}).\n${error.message}`);
    process.exit(1);
  }
}

function parse(args: readonly string[]): InstallArguments {
  try {
    return parseInstallArguments(args);
  } catch (error) {
    throw new TftrtError(
      'TFTRT_INVALID_ARGUMENT',
      `${(error as Error).message}\nusage: npm run setup [-- --gpu | --from FOLDER]`,
    );
  }
}
