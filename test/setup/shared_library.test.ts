import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { CUDA_LIBRARIES, findLibraries, TENSORRT_LIBRARIES } from '#src/setup/gpu_libraries';
import { addonFile, locateTensorFlow } from '#src/setup/paths';
import { damageOf } from '#src/setup/shared_library';
import { makeLibrary } from './fake_libraries';
import { cutOff, useTemporaryFolder, writeFile } from './helpers';

describe('damageOf', () => {
  const folder = useTemporaryFolder();
  const inside = (...names: string[]) => path.join(folder(), ...names);

  it('finds nothing wrong with real libraries', () => {
    const { found } = findLibraries([...CUDA_LIBRARIES, ...TENSORRT_LIBRARIES]);
    for (const file of [...Object.values(locateTensorFlow().libraries), ...found.values()]) {
      expect(damageOf(file), file).to.equal(null);
    }
    for (const name of ['tftrt', 'tftrt_loader'] as const) expect(damageOf(addonFile(name))).to.equal(null);
  });

  it('says what a file is instead', () => {
    writeFile(inside('empty'));
    writeFile(inside('text'), 'not a library, though long enough to be the header of one'.repeat(2));
    fs.writeFileSync(inside('other'), fs.readFileSync(addonFile('tftrt_loader')).fill(183, 18, 19)); // for ARM
    expect(damageOf(inside('empty'))).to.equal('it is empty');
    expect(damageOf(inside('text'))).to.equal('it is no shared library for x86-64');
    expect(damageOf(inside('other'))).to.equal('it is no shared library for x86-64');
    expect(damageOf(inside('absent'))).to.contain('cannot be read: ENOENT');
    expect(damageOf(folder())).to.contain('cannot be read: EISDIR');
  });

  it('finds one cut off anywhere', () => {
    const file = inside('libwhole.so');
    makeLibrary(file, 'int values[5000] = {1};');
    const { size } = fs.statSync(file);
    for (let bytes = 64; bytes < size; bytes += 509) {
      cutOff(file, inside('cut'), bytes);
      expect(damageOf(inside('cut'))).to.match(/^it is cut off: it has \d+ bytes of at least \d+$/);
    }
    fs.appendFileSync(file, 'more');
    expect(damageOf(file)).to.equal(null);
  });

  it('keeps the process alive, which opening a cut-off library ends', () => {
    const { framework, cc } = locateTensorFlow().libraries;
    cutOff(cc, inside('tensorflow', path.basename(cc)), 1e6);
    fs.symlinkSync(framework, inside('tensorflow', path.basename(framework)));
    const script = `
      const tf = require('@tensorflow/tfjs-core');
      require('tfjs-backend-tftrt');
      tf.setBackend('tftrt').then(() => tf.ones([1])).catch(({ code, message }) => console.log(code, message));`;
    const { stdout, signal, stderr } = spawnSync(process.execPath, ['-e', script], {
      encoding: 'utf8',
      env: { ...process.env, TFTRT_TENSORFLOW: folder() },
    });
    expect(signal, stderr).to.equal(null);
    expect(stdout)
      .to.contain('TFTRT_TENSORFLOW_DAMAGED')
      .and.contain(inside('tensorflow/libtensorflow_cc.so.2'));
  });
});
