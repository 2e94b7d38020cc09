import { execFileSync } from 'node:child_process';
import * as tfjs from '@tensorflow/tfjs';
import { expect } from 'chai';
import * as tf from 'tfjs-backend-tftrt/node';
import { onTftrt } from '../support/tftrt';

describe('tfjs-backend-tftrt/node', () => {
  onTftrt();

  it('has all that @tensorflow/tfjs has', () => {
    const missing = Object.keys(tfjs).filter((name) => name !== 'default' && !(name in tf));
    expect(missing).to.deep.equal([]);
    expect(tf.Tensor).to.equal(tfjs.Tensor);
    expect(Object.keys(tf.io)).to.include.members(Object.keys(tfjs.io));
  });

  it('names the version of tfjs-node that it stands in for', () => {
    expect(tf.version).to.deep.equal({ ...tfjs.version, 'tfjs-node': tfjs.version.tfjs });
  });

  it('has the members of tf.node', () => {
    const members = [
      ...['decodeBmp', 'decodeGif', 'decodeImage', 'decodeJpeg', 'decodePng', 'encodeJpeg', 'encodePng'],
      ...['getMetaGraphsFromSavedModel', 'getNumOfSavedModels', 'loadSavedModel'],
      ...['summaryFileWriter', 'tensorBoard'],
    ];
    expect(Object.keys(tf.node).sort()).to.deep.equal(members);
  });

  it('takes the name of tfjs-node’s backend for its own', async () => {
    const x = tf.tensor1d([1, 2]);
    await tf.setBackend('tensorflow');
    try {
      expect(tf.getBackend()).to.equal('tensorflow');
      expect(tf.findBackend('tensorflow')).to.equal(tf.findBackend('tftrt'));
      expect([...tf.tidy(() => tf.relu(x.sub(1))).dataSync()]).to.deep.equal([0, 1]);
      expect(tf.getKernelsForBackend('tensorflow').length).to.be.at.least(
        tf.getKernelsForBackend('cpu').length,
      );
    } finally {
      await tf.setBackend('tftrt');
    }
    expect([...x.add(1).dataSync()]).to.deep.equal([2, 3]);
    x.dispose();
  });

  const programs = {
    require: [
      '--print',
      `const tf = require('tfjs-backend-tftrt/node'); [tf.getBackend(), tf.add(1, 2).dataSync()[0], typeof tf.io.nodeHTTPRequest].join()`,
    ],
    import: [
      '--input-type=module',
      '--eval',
      `import * as tf from 'tfjs-backend-tftrt/node'; console.log([tf.getBackend(), tf.add(1, 2).dataSync()[0], typeof tf.io.nodeHTTPRequest].join())`,
    ],
  };
  for (const [way, program] of Object.entries(programs)) {
    it(`sets the backend: ${way}`, () => {
      const output = execFileSync(process.execPath, program, {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      expect(output.trim()).to.equal('tftrt,3,function');
    }).timeout(120_000);
  }
});
