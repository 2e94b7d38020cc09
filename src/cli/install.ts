import { type InstallOptions, install } from '../setup/install';
import { report } from '../setup/run_step';

/** `tftrt install`. */
export async function runInstall(options: InstallOptions): Promise<void> {
  await install(options);
  report('installed; `npx tftrt doctor` checks it');
}
