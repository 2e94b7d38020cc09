import path from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import { readFixture } from '../support/fixtures';
import { errorOf, live, onTftrt } from '../support/tftrt';

type Shape = [number, number, number, number];
const shapeOf = (images: number): Shape => [images, 16, 16, 3];
const bytesOf = (images: number) => images * 16 * 16 * 3 * 4;
/** Large enough to be copied off the event loop; those above 1 MiB are, on a GPU, unless they can shrink. */
const IMAGES = 300;
const SHRINKING_IMAGES = 400;

/** Programs use the array of a frame again for the next one, or hand it to another thread. */
describe('the array behind an input of an asynchronous call', () => {
  onTftrt();

  const ways: Record<string, (buffer: ArrayBuffer) => void> = {
    'be written to': (buffer) => new Float32Array(buffer).fill(7),
    'be transferred': (buffer) => structuredClone(buffer, { transfer: [buffer] }),
    'be shrunk': (buffer) => (buffer as ArrayBuffer & { resize(bytes: number): void }).resize(0),
  };
  const models: Record<string, () => Promise<tf.GraphModel | tftrt.SavedModel>> = {
    'a graph model': () =>
      tf.loadGraphModel(
        `file://${path.join(readFixture('graph_models', 'small_cnn').folder, 'model.json')}`,
      ) as Promise<tf.GraphModel>,
    'a SavedModel': () => tftrt.loadSavedModel(readFixture('saved_models', 'keras_cnn').folder),
  };

  for (const [kind, load] of Object.entries(models)) {
    for (const [name, use] of Object.entries(ways)) {
      it(`may ${name} once it is made: ${kind}`, async () => {
        const before_ = live();
        const model = await load();
        const shrinks = name === 'be shrunk';
        const images = shrinks ? SHRINKING_IMAGES : IMAGES;
        const bytes = bytesOf(images);
        const options = shrinks ? { maxByteLength: bytes } : {};
        const Buffer = ArrayBuffer as new (bytes: number, options: object) => ArrayBuffer;
        const wanted = tf.tidy(() => (model.predict(tf.fill([1, 16, 16, 3], 0.5)) as tf.Tensor).dataSync());
        // The first call of each compiles.
        for (let call = 0; call < 2; call++) {
          const buffer = new Buffer(bytes, options);
          const x = tf.tensor4d(new Float32Array(buffer).fill(0.5), shapeOf(images));
          const pending = model.predictAsync(x) as Promise<tf.Tensor>;
          use(buffer);
          const y = await pending;
          const values = await y.data();
          let furthest = 0;
          values.forEach((value, i) => {
            furthest = Math.max(furthest, Math.abs(value - wanted[i % 10]!));
          });
          expect(furthest).to.be.below(1e-5);
          tf.dispose([x, y]);
        }
        model.dispose();
        expect(live()).to.deep.equal(before_);
      });
    }
  }

  it('is missed where it is gone before', async () => {
    const model = (await models['a SavedModel']!()) as tftrt.SavedModel;
    const good = tf.zeros(shapeOf(IMAGES));
    tf.dispose([good, await model.predictAsync(good)]);
    const before_ = live();
    const buffer = new ArrayBuffer(bytesOf(IMAGES));
    const x = tf.tensor4d(new Float32Array(buffer), shapeOf(IMAGES));
    structuredClone(buffer, { transfer: [buffer] });
    const error = await errorOf(() => model.predictAsync(x));
    expect(error.code).to.equal('TFTRT_INVALID_ARGUMENT');
    expect(error.message).to.match(/The model .*keras_cnn.* the values have 0 bytes.*transferred or resized/);
    x.dispose();
    expect(live()).to.deep.equal(before_);
    model.dispose();
  });
});
