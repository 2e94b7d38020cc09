import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import { useTemporaryFolder } from '../setup/helpers';
import { readFixture } from '../support/fixtures';
import { cleanErrorOf, live, onTftrt } from '../support/tftrt';

describe('file:// models', () => {
  onTftrt();
  const temporaryFolder = useTemporaryFolder();

  it('are saved and loaded: graph models', async () => {
    const before_ = live();
    const source = await tf.loadGraphModel(`file://${readFixture('graph_models', 'small_cnn').folder}`);
    const folder = path.join(temporaryFolder(), 'made', 'by save');
    const { modelArtifactsInfo } = await source.save(`file://${folder}`);
    expect(fs.readdirSync(folder).sort()).to.deep.equal(['model.json', 'weights.bin']);
    expect(modelArtifactsInfo.weightDataBytes).to.equal(fs.statSync(path.join(folder, 'weights.bin')).size);
    const copy = await tf.loadGraphModel(`file://${folder}/model.json`);
    const x = tf.randomUniform([2, 16, 16, 3], 0, 1, 'float32', 4);
    const [wanted, actual] = [source.predict(x) as tf.Tensor, copy.predict(x) as tf.Tensor];
    expect(await actual.array()).to.deep.equal(await wanted.array());
    tf.dispose([x, wanted, actual]);
    source.dispose();
    copy.dispose();
    expect(live()).to.deep.equal(before_);
  });

  it('are saved and loaded: layers models', async () => {
    const source = tf.sequential({
      layers: [tf.layers.dense({ units: 3, inputShape: [2], activation: 'relu' })],
    });
    const folder = temporaryFolder();
    await source.save(`file://${folder}`);
    const copy = await tf.loadLayersModel(`file://${folder}/model.json`);
    const x = tf.tensor2d([[1, 2]]);
    const [wanted, actual] = [source.predict(x) as tf.Tensor, copy.predict(x) as tf.Tensor];
    expect(await actual.array()).to.deep.equal(await wanted.array());
    tf.dispose([x, wanted, actual]);
    source.dispose();
    copy.dispose();
  });

  it('are saved whole where several are saved to one place at a time', async () => {
    const model = (units: number) => {
      const made = tf.sequential({
        layers: [tf.layers.dense({ units, inputShape: [300], useBias: false })],
      });
      const kernel = tf.fill([300, units], units);
      made.setWeights([kernel]);
      kernel.dispose();
      return made;
    };
    const folder = temporaryFolder();
    // Some are written in no time.
    const models = [1000, 1, 500, 2].map(model);
    for (let round = 0; round < 10; round++) {
      await Promise.all(models.map((one) => one.save(`file://${folder}`)));
      expect(fs.readdirSync(folder).sort()).to.deep.equal(['model.json', 'weights.bin']);
      const bytes = fs.readFileSync(path.join(folder, 'weights.bin'));
      const weights = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
      expect(new Set(weights).size, 'different weights in the file').to.equal(1);
      expect(weights).to.have.length(300 * weights[0]!);
      const described = JSON.parse(fs.readFileSync(path.join(folder, 'model.json'), 'utf8'));
      expect(described.weightsManifest[0].weights[0].shape).to.deep.equal([300, weights[0]]);
    }
    for (const one of models) one.dispose();
  });

  it('take relative paths', async () => {
    const relative = path.relative(process.cwd(), readFixture('graph_models', 'argmax').folder);
    const model = await tf.loadGraphModel(`file://${relative}/model.json`);
    model.dispose();
  });

  it('take paths as they are, and URLs that encode them', async () => {
    const model = (units: number) => tf.sequential({ layers: [tf.layers.dense({ units, inputShape: [2] })] });
    const unitsOf = async (url: string) => (await tf.loadLayersModel(url)).outputs[0]!.shape[1];
    const folder = temporaryFolder();
    const names = ['run#1', 'run#2', 'what?', 'a%20b', '100%', 'back\\slash', 'with space'];
    for (const [i, name] of names.entries()) await model(i + 1).save(`file://${folder}/${name}`);
    expect(fs.readdirSync(folder).sort()).to.deep.equal([...names].sort());
    for (const [i, name] of names.entries()) {
      expect(await unitsOf(`file://${folder}/${name}/model.json`), name).to.equal(i + 1);
      const encoded = pathToFileURL(path.join(folder, name, 'model.json')).href;
      expect(await unitsOf(encoded), encoded).to.equal(i + 1);
    }
    await model(9).save(pathToFileURL(path.join(folder, 'with space', 'below')).href);
    expect(await unitsOf(`file://${folder}/with space/below/model.json`)).to.equal(9);
  });

  it('say where saving failed', async () => {
    const model = await tf.loadGraphModel(`file://${readFixture('graph_models', 'argmax').folder}`);
    const file = path.join(temporaryFolder(), 'a file');
    fs.writeFileSync(file, '');
    const error = await cleanErrorOf(() => model.save(`file://${file}/below`));
    expect(error.code).to.equal('TFTRT_MODEL_FILE');
    expect(error.message).to.include(`${file}/below`);
    model.dispose();
  });

  it('leave nothing half-done where saving failed', async () => {
    const model = await tf.loadGraphModel(`file://${readFixture('graph_models', 'argmax').folder}`);
    const folder = temporaryFolder();
    fs.mkdirSync(path.join(folder, 'weights.bin', 'in the way'), { recursive: true });
    const error = await cleanErrorOf(() => model.save(`file://${folder}`));
    expect(error.code).to.equal('TFTRT_MODEL_FILE');
    expect(fs.readdirSync(folder)).to.deep.equal(['weights.bin']);
    model.dispose();
  });

  // Node's recursive mkdir would never return, and nothing in its process could stop it.
  it('say that a folder takes none', () => {
    const script = `
      const { FileSystemHandler } = require('#src/io/file_system');
      new FileSystemHandler('/proc/x').save({}).catch(({ code, message }) => console.log(code, message));`;
    const { stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8', timeout: 30_000 });
    expect(stdout).to.match(/^TFTRT_MODEL_FILE .*\/proc\/x cannot be made: \/proc takes no new folders/);
  });

  it('are left to another router that claims them', () => {
    const ours = tf.io.getLoadHandlers('file:///x');
    expect(ours.length).to.equal(1);
    const theirs = { load: async () => ({}) };
    let claims = true; // tfjs has no way to take a router away
    tf.io.registerLoadRouter(
      (url) => (claims && String(url).startsWith('file://') ? theirs : null) as tf.io.IOHandler,
    );
    try {
      expect(tf.io.getLoadHandlers('file:///x')).to.deep.equal([theirs]);
    } finally {
      claims = false;
    }
    expect(tf.io.getLoadHandlers('file:///x').length).to.equal(1);
  });
});
