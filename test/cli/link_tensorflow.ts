import fs from 'node:fs';
import path from 'node:path';
import { locateTensorFlow } from '#src/setup/paths';

/** Links all of TensorFlow's files but one. */
export function linkTensorFlow(directory: string, without?: string): void {
  fs.rmSync(directory, { recursive: true, force: true });
  fs.mkdirSync(directory, { recursive: true });
  const source = locateTensorFlow().directory;
  for (const name of fs.readdirSync(source)) {
    if (name !== without) fs.symlinkSync(path.join(source, name), path.join(directory, name));
  }
}
