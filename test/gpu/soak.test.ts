import * as tf from '@tensorflow/tfjs';
import { expect } from 'chai';
import * as tftrt from 'tfjs-backend-tftrt';
import { bytesOfObjects, bytesOutsideHeap, growthOf, inMiB } from '../support/memory';
import { expectBack, live, onTftrt } from '../support/tftrt';
import { expectSame, replays, upload, warmUp } from './capture';
import { convNet, denseNet, type Net, take, tensors } from './nets';
import { engineSubject } from './stress';

const RUNS = Number(process.env.TFTRT_SOAK_RUNS ?? 100_000);
/** Of resident memory outside of the heap, which the allocators' caches make uneven. */
const ALLOWED_GROWTH = 6 * 2 ** 20;

/** What must stay as it is. */
function native() {
  const { capturedGraphs, graphs, preparedOps, deviceBytesInUse, graphArenaBytesInUse } = tftrt.stats();
  return { ...live(), capturedGraphs, graphs, preparedOps, deviceBytesInUse, graphArenaBytesInUse };
}

/** Predicts in turn from the host and from the device, on this thread and off it. Checks the first value of each hundredth. */
async function soak(model: tf.GraphModel, net: Net): Promise<void> {
  const onDevice = tensors(net, 1);
  for (const input of Object.values(onDevice)) upload(input);
  const wanted = await take(model.predict(onDevice));
  const predict = async (i: number): Promise<unknown> => {
    const inputs = i % 4 < 2 ? onDevice : tensors(net, 1);
    const result = i % 2 === 0 ? model.predict(inputs) : await model.predictAsync(inputs);
    if (inputs !== onDevice) tf.dispose(inputs);
    return result;
  };
  // The pinned and device memory of several in flight, and the heap's first growth.
  for (let i = 0; i < 1000; i++) tf.dispose((await predict(i)) as tf.Tensor);
  await new Promise((resolve) => setTimeout(resolve, 100));
  const before_ = native();
  const counted = replays();
  const objects = bytesOfObjects();
  const resident: number[] = [];
  for (let i = 0; i < RUNS; i++) {
    const result = await predict(i);
    if (i % 100 !== 0) {
      tf.dispose(result as tf.Tensor);
      continue;
    }
    expectSame(await take(result), wanted, `prediction ${i}`);
    if (i % 1000 === 0) {
      globalThis.gc?.();
      resident.push(bytesOutsideHeap());
    }
  }
  await expectBack(native, before_, `after ${RUNS} predictions`);
  expect(replays() - counted, 'by CUDA graphs').to.equal(RUNS);
  expect(growthOf(resident), `bytes that resident memory grew: ${inMiB(resident)} MiB`).to.be.at.most(
    ALLOWED_GROWTH,
  );
  expect(bytesOfObjects() - objects, 'bytes that live objects grew').to.be.at.most(ALLOWED_GROWTH / 2);
  tf.dispose(onDevice);
}

describe(`${RUNS} predictions leave memory as it was`, function () {
  this.timeout(600_000);
  onTftrt();

  it("by TensorFlow's CUDA graph", async () => {
    const net = denseNet();
    const model = await net.load();
    await warmUp(model, () => tensors(net, 1));
    await soak(model, net);
    model.dispose();
  });

  it('by a TensorRT engine', async () => {
    const net = convNet({ size: 64, channels: 32, layers: 10, seed: 3 });
    const { model } = await engineSubject(net);
    await soak(model, net);
    model.dispose();
  });
});
