import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { io } from '@tensorflow/tfjs-core';
import { expect } from 'chai';
import * as tf from 'tfjs-backend-tftrt/node';
import { useTemporaryFolder } from '../setup/helpers';
import { errorOf, onTftrt } from '../support/tftrt';

/** y = 2x + 1 */
async function save(handler: io.IOHandler): Promise<void> {
  const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [1] })] });
  model.setWeights([tf.tensor2d([[2]]), tf.tensor1d([1])]);
  model.setUserDefinedMetadata({ note: 'kept' });
  await model.save(handler);
  model.dispose();
}

async function check(model: tf.LayersModel): Promise<void> {
  const y = model.predict(tf.tensor2d([[20]])) as tf.Tensor;
  expect([...(await y.data())]).to.deep.equal([41]);
  expect(model.getUserDefinedMetadata()).to.deep.equal({ note: 'kept' });
  model.dispose();
}

describe('tf.io.fileSystem', () => {
  onTftrt();
  const folder = useTemporaryFolder();

  it('saves and loads models', async () => {
    const target = path.join(folder(), 'model');
    await save(tf.io.fileSystem(target));
    expect(fs.readdirSync(target).sort()).to.deep.equal(['model.json', 'weights.bin']);
    const { weightsManifest } = JSON.parse(fs.readFileSync(path.join(target, 'model.json'), 'utf8'));
    expect(weightsManifest[0].paths).to.deep.equal(['weights.bin']);
    const error = await errorOf(() => save(tf.io.fileSystem(path.join(target, 'model.json'))));
    expect(error.message).to.include('model.json is a file');
    await check(await tf.loadLayersModel(tf.io.fileSystem(path.join(target, 'model.json'))));
    await check(await tf.loadLayersModel(`file://${target}/model.json`));
  });

  it('reads a serialized graph and its weights', async () => {
    const [graph, manifest] = [path.join(folder(), 'graph.pb'), path.join(folder(), 'manifest.json')];
    fs.writeFileSync(graph, Buffer.from([1, 2, 3]));
    const weights: io.WeightsManifestEntry[] = [{ name: 'w', shape: [2], dtype: 'float32' }];
    fs.writeFileSync(manifest, JSON.stringify([{ paths: ['w.bin'], weights }]));
    fs.writeFileSync(path.join(folder(), 'w.bin'), new Uint8Array(Float32Array.of(5, 6).buffer));
    const handlers = [
      tf.io.fileSystem([graph, manifest]),
      tf.io.getLoadHandlers([`file://${graph}`, `file://${manifest}`])[0]!,
    ];
    for (const handler of handlers) {
      const artifacts = await handler.load!();
      expect([...new Uint8Array(artifacts.modelTopology as ArrayBuffer)]).to.deep.equal([1, 2, 3]);
      expect(artifacts.weightSpecs).to.deep.equal(weights);
      expect([...new Float32Array(artifacts.weightData as ArrayBuffer)]).to.deep.equal([5, 6]);
    }
    const refused = await errorOf(() => handlers[0]!.save!({}));
    expect(refused.message).to.equal('Cannot perform saving to multiple paths.');
    fs.writeFileSync(manifest, '[1]');
    expect((await errorOf(() => handlers[0]!.load!())).message).to.include(manifest);
    fs.rmSync(graph);
    expect((await errorOf(() => handlers[0]!.load!())).message).to.include(
      `${graph}: the file does not exist`,
    );
  });

  it('takes one or two paths', async () => {
    const error = await errorOf(() => tf.io.fileSystem(['a', 'b', 'c']));
    expect(error.message).to.equal('file paths must have a length of 2, (actual length is 3).');
    expect(error.code).to.equal('TFTRT_INVALID_ARGUMENT');
    const none = await errorOf(() => tf.io.fileSystem(undefined as never));
    expect([none.code, none.message]).to.deep.equal([
      'TFTRT_INVALID_ARGUMENT',
      'fileSystem takes a path or two, got undefined.',
    ]);
  });
});

describe('tf.io.nodeHTTPRequest', () => {
  onTftrt();
  const folder = useTemporaryFolder();
  const requests: Array<{ url: string; key: string | undefined }> = [];
  let server: http.Server;
  let address: string;

  before(async () => {
    server = http.createServer(({ url, headers }, response) => {
      requests.push({ url: url!, key: headers['x-key'] as string | undefined });
      const file = path.join(folder(), path.basename(url!));
      if (!fs.existsSync(file)) response.writeHead(404).end();
      else response.end(fs.readFileSync(file));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(async () => {
    requests.length = 0;
    await save(tf.io.fileSystem(folder()));
  });

  it('loads models, and so does their URL', async () => {
    await check(await tf.loadLayersModel(tf.io.nodeHTTPRequest(`${address}/model.json`)));
    await check(await tf.loadLayersModel(`${address}/model.json`));
  });

  it('takes a request and where the weights are', async () => {
    const handler = tf.io.nodeHTTPRequest(
      `${address}/model.json`,
      { headers: { 'x-key': 'secret' } },
      `${address}/weights/`,
    );
    await check(await tf.loadLayersModel(handler));
    expect(requests[0]).to.deep.equal({ url: '/model.json', key: 'secret' });
    expect(requests[1]!.key).to.equal('secret');
    expect(requests[1]!.url).to.match(/^\/weights\/.*weights\.bin$/);
  });

  it('says what is not there', async () => {
    const error = await errorOf(() => tf.loadLayersModel(tf.io.nodeHTTPRequest(`${address}/other.json`)));
    expect(error.message).to.include(`${address}/other.json`).and.include('404');
  });
});
