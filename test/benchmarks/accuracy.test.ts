import assert from 'node:assert/strict';
import { freeze, loadFrozen } from '../../benchmarks/accuracy/freeze';
import { CHANNELS, CLASSES, makeImages, SIDE } from '../../benchmarks/accuracy/images';
import { makeNetwork } from '../../benchmarks/accuracy/network';
import { Random } from '../../benchmarks/accuracy/random';
import { accuracyOf, classify, train } from '../../benchmarks/accuracy/training';
import { live, onTftrt } from '../support/tftrt';

/** The parts of the accuracy experiment, on little data: the experiment itself needs a GPU. */
describe('accuracy experiment', () => {
  onTftrt();

  it('has normal noise', () => {
    const values = new Float32Array(99_999);
    new Random(1).addNoise(values, 0, values.length, 2);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
    const withinOne = values.filter((value) => Math.abs(value) < 2).length / values.length;
    assert.ok(Math.abs(mean) < 0.03, `mean ${mean}`);
    assert.ok(Math.abs(variance - 4) < 0.08, `variance ${variance}`);
    assert.ok(Math.abs(withinOne - 0.6827) < 0.008, `${withinOne} within one standard deviation`);
  });

  it('makes the same images from a seed, of every class', () => {
    const images = makeImages(300, 7);
    assert.deepEqual(makeImages(300, 7), images);
    assert.notDeepEqual(makeImages(300, 8).pixels, images.pixels);
    assert.equal(images.pixels.length, 300 * SIDE * SIDE * CHANNELS);
    assert.equal(new Set(images.labels).size, CLASSES);
    assert.ok(images.pixels.every((value) => Math.abs(value) < 10));
  });

  it('trains, and freezes to a graph that gives the same probabilities', async function () {
    this.timeout(60_000);
    const before = live();
    const model = makeNetwork(1);
    const images = makeImages(160, 3);
    // Training on the few images that it is then tested on shows that the steps go downhill.
    const epochs = await train(model, images, images, {
      seed: 1,
      batchSize: 32,
      seconds: 60,
      maximumEpochs: 3,
    });
    assert.equal(epochs.length, 3);
    assert.ok(epochs[2]!.loss < 0.9 * epochs[0]!.loss, epochs.map(({ loss }) => loss).join());

    const expected = await classify(model, images, 64);
    const frozen = await loadFrozen(freeze(model));
    const convolutions = model.layers.filter((layer) => layer.getClassName() === 'Conv2D');
    assert.ok(convolutions.length >= 8);
    const actual = await classify(frozen, images, 64);
    const worst = actual.reduce((max, value, i) => Math.max(max, Math.abs(value - expected[i]!)), 0);
    assert.ok(worst <= 1e-4, `the frozen graph differs by ${worst}`);
    assert.ok(new Set(expected).size > CLASSES, 'the network gives the same for every image');
    assert.equal(accuracyOf(actual, images.labels), accuracyOf(expected, images.labels));

    frozen.dispose();
    model.dispose();
    assert.deepEqual(live(), before);
  });
});
