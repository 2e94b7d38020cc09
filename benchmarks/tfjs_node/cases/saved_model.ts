import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NamedTensorMap, Tensor } from '@tensorflow/tfjs-core';
import { type FixtureCall, fixtures, folderOf, inputsOf } from '../fixtures';
import { type Case, type Context, casesOf } from '../types';

const TWO = folderOf('two_inputs');
const TAGS = folderOf('tag_sets');
const INT64 = folderOf('int64_io');

const metaGraphs = casesOf('getMetaGraphsFromSavedModel', {
  ...Object.fromEntries(
    fixtures.map(({ name }) => [
      name,
      ({ tf }: Context) => tf.node.getMetaGraphsFromSavedModel(folderOf(name)),
    ]),
  ),
  'shapes are lists of numbers': async ({ tf }) => {
    const [graph] = await tf.node.getMetaGraphsFromSavedModel(TWO);
    return typeof (graph!.signatureDefs.serving_default!.inputs.a!.shape as unknown[])[0];
  },
  'order of signatures': async ({ tf }) => {
    const [graph] = await tf.node.getMetaGraphsFromSavedModel(folderOf('multi_signature'));
    return Object.keys(graph!.signatureDefs);
  },
  'order of inputs': async ({ tf }) => {
    const [graph] = await tf.node.getMetaGraphsFromSavedModel(TWO);
    return Object.keys(graph!.signatureDefs.serving_default!.inputs);
  },
  'a folder with a slash at its end': ({ tf }) => tf.node.getMetaGraphsFromSavedModel(`${TWO}/`),
  'an empty folder': ({ tf }) => tf.node.getMetaGraphsFromSavedModel('.'),
  'no folder': ({ tf }) => tf.node.getMetaGraphsFromSavedModel('nothing'),
  undefined: ({ tf }) => tf.node.getMetaGraphsFromSavedModel(undefined as never),
  'a damaged file': ({ tf, folder }) => {
    writeFileSync(join(folder, 'saved_model.pb'), 'this is no protobuf');
    return tf.node.getMetaGraphsFromSavedModel(folder);
  },
  'an empty file': ({ tf, folder }) => {
    writeFileSync(join(folder, 'saved_model.pb'), '');
    return tf.node.getMetaGraphsFromSavedModel(folder);
  },
});

/** Each signature of each fixture: what it says of itself, and what it gives for a map, a list and a tensor. */
const bySignature = fixtures.flatMap(({ name, calls }) =>
  calls.flatMap((call) => {
    const load = ({ tf }: Context) => tf.node.loadSavedModel(folderOf(name), [...call.tags], call.signature);
    const label = `${name}, ${call.name}`;
    return casesOf('loadSavedModel', {
      [`${label}: inputs, outputs, outputNodeNames`]: async (context) => {
        const model = await load(context);
        const { outputNodeNames, inputs, outputs } = model;
        model.dispose();
        return { inputs, outputs, outputNodeNames };
      },
      [`${label}: predict with a map`]: (context) => predict(context, load, call, (map) => map),
      [`${label}: predict with a list`]: (context) =>
        predict(context, load, call, (map) => Object.values(map)),
      ...(Object.keys(call.inputs).length === 1 && {
        [`${label}: predict with a tensor`]: (context: Context) =>
          predict(context, load, call, (map) => Object.values(map)[0]!),
      }),
      ...(call.fetch && {
        [`${label}: execute`]: async (context: Context) =>
          (await load(context)).execute(inputsOf(call, context.tf), [...call.fetch!]),
      }),
    });
  }),
);

async function predict(
  context: Context,
  load: (context: Context) => ReturnType<Context['tf']['node']['loadSavedModel']>,
  call: FixtureCall,
  arrange: (map: NamedTensorMap) => Tensor | Tensor[] | NamedTensorMap,
): Promise<unknown> {
  const model = await load(context);
  try {
    return model.predict(arrange(inputsOf(call, context.tf)));
  } finally {
    model.dispose();
  }
}

const two = ({ tf }: Context) => ({ z: tf.tensor1d([10]), a: tf.tensor1d([3]) });
const onTwo =
  (run: (model: Awaited<ReturnType<Context['tf']['node']['loadSavedModel']>>, context: Context) => unknown) =>
  async (context: Context) => {
    const model = await context.tf.node.loadSavedModel(TWO);
    return run(model, context);
  };

const loading = casesOf('loadSavedModel', {
  'z - a and z + a: a list in the order of the names': onTwo((model, context) => {
    const { a, z } = two(context);
    return model.predict([a, z]);
  }),
  'returns a promise of predictAsync': onTwo(
    (model) => typeof (model as { predictAsync?: unknown }).predictAsync,
  ),
  'outputNodeNames after outputs': onTwo((model) => {
    void model.outputs;
    return model.outputNodeNames;
  }),
  execute: onTwo((model, context) => model.execute(two(context), 'y')),
  'a map with another name': onTwo((model, context) =>
    model.predict({ a: two(context).a, x: two(context).z }),
  ),
  'a map that lacks one': onTwo((model, context) => model.predict({ a: two(context).a })),
  'a map with one too many': onTwo((model, context) => model.predict({ ...two(context), b: two(context).a })),
  'an empty map': onTwo((model) => model.predict({})),
  'a tensor for two inputs': onTwo((model, context) => model.predict(two(context).a)),
  'a list of one for two inputs': onTwo((model, context) => model.predict([two(context).a])),
  'a list of three for two inputs': onTwo((model, context) => {
    const { a, z } = two(context);
    return model.predict([a, z, a]);
  }),
  null: onTwo((model) => model.predict(null as never)),
  undefined: onTwo((model) => model.predict(undefined as never)),
  'numbers for tensors': onTwo((model) => model.predict({ a: 1, z: 2 } as never)),
  'int32 for float32': onTwo((model, { tf }) =>
    model.predict({ z: tf.tensor1d([1], 'int32'), a: tf.tensor1d([1]) }),
  ),
  'another rank': onTwo((model, { tf }) => model.predict({ z: tf.tensor2d([[1]]), a: tf.tensor1d([1]) })),
  'another size than the other input': onTwo((model, { tf }) =>
    model.predict({ z: tf.tensor1d([1, 2]), a: tf.tensor1d([1, 2, 3]) }),
  ),
  'a disposed tensor': onTwo((model, context) => {
    const inputs = two(context);
    inputs.a.dispose();
    return model.predict(inputs);
  }),
  'predict with a config': onTwo((model, context) => model.predict(two(context), { batchSize: 1 })),
  'predict after dispose': onTwo((model, context) => {
    model.dispose();
    return model.predict(two(context));
  }),
  'dispose twice': onTwo((model) => {
    model.dispose();
    model.dispose();
  }),
  'dispose returns nothing': onTwo((model) => model.dispose()),
  'one disposed, the other of the same model predicts': async (context) => {
    const [one, other] = [
      await context.tf.node.loadSavedModel(TWO),
      await context.tf.node.loadSavedModel(TWO),
    ];
    one.dispose();
    return other.predict(two(context));
  },
  'two tags': async ({ tf }) =>
    (await tf.node.loadSavedModel(TAGS, ['serve', 'train'])).predict(tf.tensor1d([1, 2, 3])),
  'two tags in another order': async ({ tf }) =>
    (await tf.node.loadSavedModel(TAGS, ['train', 'serve'])).predict(tf.tensor1d([1, 2, 3])),
  'tags stay in their order': async ({ tf }) => {
    const tags = ['train', 'serve'];
    await tf.node.loadSavedModel(TAGS, tags);
    return tags;
  },
  'tags that there are not': ({ tf }) => tf.node.loadSavedModel(TWO, ['serve', 'gpu']),
  'no tags': ({ tf }) => tf.node.loadSavedModel(TWO, []),
  'tags: a string': ({ tf }) => tf.node.loadSavedModel(TWO, 'serve' as never),
  'tags: undefined': async ({ tf }) => (await tf.node.loadSavedModel(TWO, undefined)).inputs.length,
  'tags: null': ({ tf }) => tf.node.loadSavedModel(TWO, null as never),
  'a signature that there is not': ({ tf }) => tf.node.loadSavedModel(TWO, ['serve'], 'other'),
  'signature: null': ({ tf }) => tf.node.loadSavedModel(TWO, ['serve'], null as never),
  'the signature TensorFlow initialises with': ({ tf }) =>
    tf.node.loadSavedModel(folderOf('hash_table'), ['serve'], '__saved_model_init_op'),
  'no folder': ({ tf }) => tf.node.loadSavedModel('nothing'),
  'an empty folder': ({ tf }) => tf.node.loadSavedModel('.'),
  'path: undefined': ({ tf }) => tf.node.loadSavedModel(undefined as never),
  'a model without its variables': ({ tf, folder }) => {
    copyFileSync(join(folderOf('keras_cnn'), 'saved_model.pb'), join(folder, 'saved_model.pb'));
    return tf.node.loadSavedModel(folder);
  },
  'a model without its variables predicts': async ({ tf, folder }) => {
    copyFileSync(join(folderOf('keras_cnn'), 'saved_model.pb'), join(folder, 'saved_model.pb'));
    const model = await tf.node.loadSavedModel(folder);
    return model.predict(tf.zeros([1, 16, 16, 3]));
  },
  'makes as many tensors as it returns': onTwo((model, context) => {
    const inputs = two(context);
    const before = context.tf.memory().numTensors;
    model.predict(inputs);
    return context.tf.memory().numTensors - before;
  }),
});

const counting = casesOf('getNumOfSavedModels', {
  'none, one, the same again, another, and all disposed': async ({ tf }) => {
    const count = () => tf.node.getNumOfSavedModels();
    const start = count();
    const counts: number[] = [];
    const models: Awaited<ReturnType<typeof tf.node.loadSavedModel>>[] = [];
    for (const folder of [TWO, TWO, INT64]) {
      models.push(await tf.node.loadSavedModel(folder));
      counts.push(count() - start);
    }
    for (const model of models) {
      model.dispose();
      counts.push(count() - start);
    }
    return counts;
  },
  'the same model by another path': async ({ tf }) => {
    const start = tf.node.getNumOfSavedModels();
    await tf.node.loadSavedModel(folderOf('while_loop'));
    await tf.node.loadSavedModel(`${folderOf('while_loop')}/`);
    return tf.node.getNumOfSavedModels() - start;
  },
  'after what could not be loaded': async ({ tf }) => {
    const start = tf.node.getNumOfSavedModels();
    await tf.node.loadSavedModel('nothing').catch(() => {});
    await tf.node.loadSavedModel(TWO, ['x']).catch(() => {});
    return tf.node.getNumOfSavedModels() - start;
  },
});

export const savedModelCases: readonly Case[] = [...metaGraphs, ...bySignature, ...loading, ...counting];
