import { expect } from 'chai';
import * as tf from 'tfjs-backend-tftrt/node';
import { cleanErrorOf, live, onTftrt } from '../support/tftrt';

describe('helpers of tfjs-node’s backend', () => {
  onTftrt();

  const backend = () => tf.backend() as tf.NodeBackend;
  const values = (tensor: tf.Tensor) => [...tensor.dataSync()];
  const attribute = (name: string, type: number, value: tf.OpAttribute['value']) => ({ name, type, value });

  let before_: ReturnType<typeof live>;
  let scope: tf.Tensor[];
  beforeEach(() => {
    before_ = live();
    tf.engine().startScope();
    scope = [];
  });
  afterEach(() => {
    tf.engine().endScope(scope);
    expect(live()).to.deep.equal(before_);
  });

  it('run an op of one input', () => {
    const x = tf.tensor2d([1, 4, 9, 16], [2, 2]);
    const root = backend().executeSingleInput('Sqrt', x);
    expect(root).to.be.instanceOf(tf.Tensor);
    expect([root.shape, root.dtype, values(root)]).to.deep.equal([[2, 2], 'float32', [1, 2, 3, 4]]);
  });

  it('run an op with attributes of every kind', () => {
    const { binding } = backend();
    const x = tf.tensor4d([1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 3, 3, 1]);
    const pooled = backend().executeSingleOutput(
      'MaxPool',
      [
        attribute('T', binding.TF_ATTR_TYPE, binding.TF_FLOAT),
        attribute('ksize', binding.TF_ATTR_INT, [1, 2, 2, 1]),
        attribute('strides', binding.TF_ATTR_INT, [1, 1, 1, 1]),
        attribute('padding', binding.TF_ATTR_STRING, 'VALID'),
      ],
      [x],
    );
    expect(values(pooled)).to.deep.equal([5, 6, 8, 9]);
    const leaky = backend().executeSingleOutput(
      'LeakyRelu',
      [attribute('alpha', binding.TF_ATTR_FLOAT, 0.5)],
      [tf.tensor1d([-2, 2])],
    );
    expect(values(leaky)).to.deep.equal([-1, 2]);
    const filled = backend().executeSingleOutput(
      'EnsureShape',
      [attribute('shape', binding.TF_ATTR_SHAPE, [-1, 2])],
      [tf.tensor2d([[1, 2]])],
    );
    expect(values(filled)).to.deep.equal([1, 2]);
    const product = backend().executeSingleOutput(
      'MatMul',
      [attribute('transpose_b', binding.TF_ATTR_BOOL, true)],
      [tf.tensor2d([[1, 2]]), tf.tensor2d([[3, 4]])],
    );
    expect(values(product)).to.deep.equal([11]);
  });

  it('run an op of several outputs', () => {
    const { binding } = backend();
    const [unique, index] = backend().executeMultipleOutputs(
      'Unique',
      [attribute('out_idx', binding.TF_ATTR_TYPE, binding.TF_INT32)],
      [tf.tensor1d([7, 8, 7])],
      2,
    );
    expect([values(unique!), values(index!)]).to.deep.equal([
      [7, 8],
      [0, 1, 0],
    ]);
    const some = backend().executeMultipleOutputs('Unique', [], [tf.tensor1d([7, 8, 7])], 1);
    expect(some.map(values)).to.deep.equal([[7, 8]]);
    expect(backend().executeMultipleOutputs('NoOp', [], [], 0)).to.deep.equal([]);
  });

  it('make the attributes of reductions', () => {
    const x = tf.tensor2d([1, 2, 3, 4], [2, 2], 'int32');
    const axes = tf.tensor1d([1], 'int32');
    const sum = (keepDims?: boolean) =>
      backend().executeSingleOutput('Sum', backend().createReductionOpAttrs(x, keepDims), [x, axes]);
    expect([sum().shape, sum().dtype, values(sum())]).to.deep.equal([[2], 'int32', [3, 7]]);
    expect(sum(true).shape).to.deep.equal([2, 1]);
  });

  it('give int32 and float32 for dtypes that tfjs does not have', () => {
    const { binding } = backend();
    for (const [number, dtype] of [
      [binding.TF_INT64, 'int32'],
      [binding.TF_UINT8, 'int32'],
      [19, 'float32'],
    ] as const) {
      const cast = backend().executeSingleOutput(
        'Cast',
        [attribute('DstT', binding.TF_ATTR_TYPE, number)],
        [tf.tensor1d([1, 2])],
      );
      expect([cast.dtype, values(cast)]).to.deep.equal([dtype, [1, 2]]);
    }
  });

  it('name dtypes, device and versions', () => {
    const { binding } = backend();
    const numbers = (['float32', 'int32', 'bool', 'complex64', 'string'] as const).map((dtype) =>
      backend().getDTypeInteger(dtype),
    );
    expect(numbers).to.deep.equal([1, 3, 10, 8, 7]);
    expect(binding.TF_Version).to.match(/^2\.17\./);
    expect(backend().isGPUPackage).to.equal(true);
    expect(backend().isUsingGpuDevice).to.equal(binding.isUsingGpuDevice());
    expect(backend().isUsingGpuDevice).to.equal(Object.hasOwn(tf.memory(), 'numBytesInGPU'));
    expect(backend().binding).to.equal(binding);
  });

  it('count tensors in TensorFlow’s memory', () => {
    const count = backend().getNumOfTFTensors();
    const x = tf.add(tf.tensor1d([1]), tf.tensor1d([2]));
    expect(backend().getNumOfTFTensors()).to.equal(count + 3);
    x.dispose();
    expect(backend().binding.getNumOfTensors()).to.equal(count + 2);
    expect(backend().getNumOfSavedModels()).to.equal(0);
  });

  it('refuse what TensorFlow does not have, and say so', async () => {
    const { binding } = backend();
    const x = tf.tensor1d([1, 2]);
    x.sqrt().dataSync();
    const run = (op: string, attributes: tf.OpAttribute[], outputs = 1) =>
      cleanErrorOf(() => backend().executeMultipleOutputs(op, attributes, [x], outputs));
    const cases: Array<[Promise<Error & { code?: string }>, string]> = [
      [run('Squirt', []), "TensorFlow has no op 'Squirt'"],
      [run('Sqrt', [attribute('U', binding.TF_ATTR_TYPE, 1)]), "The op Sqrt has no attribute 'U'; it has T."],
      [run('Sqrt', [attribute('T', binding.TF_ATTR_INT, 1)]), 'of the kind type, and was given as int'],
      [run('Sqrt', [attribute('T', 99, 1)]), 'was given as TF_AttrType 99'],
      [
        run('Sqrt', [attribute('T', binding.TF_ATTR_TYPE, 'float32')]),
        "takes TensorFlow's number of a dtype",
      ],
      [run('Sqrt', [], 2), 'has 1 outputs here, and 2 were asked for'],
      [cleanErrorOf(() => backend().executeSingleOutput('Sqrt', [], x as never)), 'a list of tensors'],
      [cleanErrorOf(() => backend().getDTypeInteger('int64' as 'int32')), 'Unsupported DType: int64'],
    ];
    for (const [failure, message] of cases) {
      const error = await failure;
      expect(error.message).to.contain(message);
      expect(error.code).to.equal('TFTRT_INVALID_ARGUMENT');
    }
  });
});
