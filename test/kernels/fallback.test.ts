import assert from 'node:assert/strict';
import '@tensorflow/tfjs-backend-cpu';
import * as tf from '@tensorflow/tfjs-core';
import * as tftrt from 'tfjs-backend-tftrt';
import { registerTftrt } from '#src/backend/register';
import { cleanErrorOf, errorOf, live, onTftrt } from '../support/tftrt';

describe('kernels that TensorFlow cannot compute', () => {
  onTftrt();

  const warnings: string[] = [];
  const { warn } = console;
  beforeEach(() => {
    warnings.length = 0;
    console.warn = (...words: unknown[]) => {
      warnings.push(words.join(' '));
    };
  });
  afterEach(() => {
    console.warn = warn;
  });

  const count = (kernel: string) => tftrt.stats().fallbacks[kernel] ?? 0;

  it('are computed by tfjs-backend-cpu, counted, with one warning', () => {
    const before = count('Less');
    const start = live();
    tf.tidy(() => {
      // TensorFlow has no order of strings.
      const [a, b] = [tf.tensor(['a', 'ż', 'c']), tf.tensor(['b', 'a', 'c'])];
      assert.deepEqual(tf.less(a, b).arraySync(), [1, 0, 0]);
      assert.deepEqual(tf.less(b, a).arraySync(), [0, 1, 0]);
    });
    assert.equal(count('Less'), before + 2);
    assert.equal(warnings.filter((text) => text.includes('kernel Less')).length, 1);
    assert.match(warnings.join(), /computed by @tensorflow\/tfjs-backend-cpu, .* string\[3\], string\[3\]: /);
    assert.deepEqual(live(), start);
  });

  it('fail with the reason of TensorFlow where tfjs-backend-cpu does not compute them either', async () => {
    const x = tf.complex([1], [2]);
    const error = await cleanErrorOf(() => tf.engine().runKernel('Max', { x }, { reductionIndices: [0] }));
    assert.match(error.code ?? '', /^TFTRT_/);
    assert.match(error.message, /Max/);
    x.dispose();
  });

  it('do not hide other failures', async () => {
    const before = count('BatchMatMul');
    const [a, b] = [tf.ones([2, 3, 4]), tf.ones([2, 5, 6])];
    const error = await errorOf(() =>
      tf.engine().runKernel('BatchMatMul', { a, b }, { transposeA: false, transposeB: false }),
    );
    assert.equal(error.code, 'TFTRT_INVALID_ARGUMENT');
    assert.equal(count('BatchMatMul'), before);
    tf.dispose([a, b]);
  });

  it('of which this backend knows nothing are computed by tfjs-backend-cpu as well', async () => {
    const kernelName = 'TestOnlyPlusOne';
    tf.registerKernel({
      kernelName,
      backendName: 'cpu',
      kernelFunc: ({ inputs: { x }, backend }) => {
        const cpu = backend as tf.KernelBackend;
        const values = (cpu.readSync(x!.dataId) as Float32Array).map((value) => value + 1);
        return { dataId: cpu.write(values, x!.shape, 'float32'), shape: x!.shape, dtype: 'float32' };
      },
    });
    try {
      // A backend looks for such kernels when it is made.
      tf.removeBackend('tftrt');
      registerTftrt();
      await tf.setBackend('tftrt');
      tf.tidy(() => {
        const y = tf.engine().runKernel(kernelName, { x: tf.tensor1d([1, 2]) }) as tf.Tensor;
        assert.deepEqual(Array.from(y.dataSync()), [2, 3]);
      });
      assert.equal(count(kernelName), 1);
      assert.match(warnings.join(), /kernel TestOnlyPlusOne .* because this backend does not have it/);
    } finally {
      tf.unregisterKernel(kernelName, 'cpu');
      tf.unregisterKernel(kernelName, 'tftrt');
    }
  });

  it('draw on a canvas', () => {
    const drawn: Array<{ data: number[]; width: number; height: number }> = [];
    const canvas = {
      width: 0,
      height: 0,
      getContext: () => ({
        putImageData: ({ data, width, height }: ImageLike) =>
          drawn.push({ data: Array.from(data), width, height }),
      }),
    };
    class ImageData implements ImageLike {
      constructor(
        readonly data: Uint8ClampedArray,
        readonly width: number,
        readonly height: number,
      ) {}
    }
    Object.assign(globalThis, { ImageData });
    const image = tf.tensor3d([0, 0.5, 1, 1, 0, 0.25], [1, 2, 3]);
    try {
      tf.engine().runKernel('Draw', { image }, { canvas: canvas as never, options: {} });
    } finally {
      image.dispose();
      Reflect.deleteProperty(globalThis, 'ImageData');
    }
    assert.deepEqual(drawn, [{ data: [0, 128, 255, 255, 255, 0, 64, 255], width: 2, height: 1 }]);
    assert.deepEqual([canvas.width, canvas.height], [2, 1]);
  });
});

interface ImageLike {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}
