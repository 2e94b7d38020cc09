import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { makeFolder } from '#src/setup/make_folder';
import { expectTftrtError, useEnvironment, useTemporaryFolder, writeFile } from './helpers';

describe('makeFolder', () => {
  const folder = useTemporaryFolder();
  useEnvironment(() => ({ TFTRT_CACHE_DIR: path.join(folder(), 'cache') }));
  const inside = (...names: string[]) => path.join(folder(), ...names);
  const refusal = (name: string) => expectTftrtError('TFTRT_FOLDER', () => makeFolder(name)).message;

  it('makes all levels, with the mode, and takes a folder that is there', () => {
    for (let time = 0; time < 2; time++) makeFolder(inside('a', 'b', 'c'), 0o700);
    for (const made of [inside('a'), inside('a', 'b'), inside('a', 'b', 'c')]) {
      expect(fs.statSync(made).mode & 0o777).to.equal(0o700);
    }
    const relative = path.relative(process.cwd(), inside('d', 'e'));
    makeFolder(relative);
    expect(fs.statSync(inside('d', 'e')).isDirectory()).to.equal(true);
    makeFolder('/');
  });

  it('takes links to folders, and no others', () => {
    fs.mkdirSync(inside('real'));
    fs.symlinkSync(inside('real'), inside('link'));
    makeFolder(inside('link', 'below'));
    expect(fs.existsSync(inside('real', 'below'))).to.equal(true);
    fs.symlinkSync(inside('absent'), inside('dangling'));
    expect(refusal(inside('dangling', 'below'))).to.include(`mkdir '${inside('dangling')}'`);
  });

  it('says what is in the way', () => {
    writeFile(inside('file'));
    expect(refusal(inside('file'))).to.equal(
      `The folder ${inside('file')} cannot be made: ${inside('file')} is a file. Name a folder that is there, or that can be made, and that you may write to.`,
    );
    expect(refusal(inside('file', 'below'))).to.include('not a directory');
  });

  // Node's recursive mkdir would never return, and nothing in its process could stop it.
  it('gives up where no folder can be made', () => {
    const script = `
      const { makeFolder } = require('#src/setup/make_folder');
      for (const name of ['/proc/x', '/proc/x/y']) {
        try {
          makeFolder(name);
        } catch ({ code, message }) {
          console.log(code, message);
        }
      }`;
    const env = { ...process.env, TFTRT_CACHE_DIR: '/proc/x' };
    const { stdout, signal } = spawnSync(process.execPath, ['-e', script], {
      encoding: 'utf8',
      timeout: 20_000,
      env,
    });
    expect(signal).to.equal(null);
    const lines = ['/proc/x', '/proc/x/y'].map(
      (name) =>
        `TFTRT_FOLDER The folder ${name} cannot be made: /proc takes no new folders. ` +
        'TFTRT_CACHE_DIR names another folder for what is installed, one that you may write to.\n',
    );
    expect(stdout).to.equal(lines.join(''));
  });
});
