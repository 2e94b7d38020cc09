import fs from 'node:fs';
import path from 'node:path';

/** The classes' weights for red, green and blue: the first class is for red images, the second for green ones, and so on. */
const WEIGHTS = [
  [1, 0, 0, 0.5, 0.3],
  [0, 1, 0, 0.5, 0.3],
  [0, 0, 1, 0, 0.3],
];

const attributes = (types: Record<string, string>) =>
  Object.fromEntries(Object.entries(types).map(([name, type]) => [name, { type }]));
const FLOAT = attributes({ T: 'DT_FLOAT' });
const shape = (...sizes: number[]) => ({ dim: sizes.map((size) => ({ size: String(size) })) });

/**
 * Writes a graph model that sorts images of 224 by 224 into five classes by their average colour, and returns its model.json.
 */
export function writeAverageColour(folder: string): string {
  fs.mkdirSync(folder);
  const floats = Float32Array.from(WEIGHTS.flat());
  const axes = Int32Array.of(1, 2);
  fs.writeFileSync(
    path.join(folder, 'weights.bin'),
    Buffer.concat([Buffer.from(floats.buffer), Buffer.from(axes.buffer)]),
  );
  const image = { dtype: 'DT_FLOAT', tensorShape: shape(-1, 224, 224, 3) };
  const classes = { dtype: 'DT_FLOAT', tensorShape: shape(-1, 5) };
  const constant = (name: string, dtype: string, ...sizes: number[]) => ({
    name,
    op: 'Const',
    attr: { dtype: { type: dtype }, value: { tensor: { dtype, tensorShape: shape(...sizes) } } },
  });
  const model = {
    format: 'graph-model',
    signature: {
      inputs: { image: { name: 'image:0', ...image } },
      outputs: { classes: { name: 'classes:0', ...classes } },
    },
    modelTopology: {
      node: [
        {
          name: 'image',
          op: 'Placeholder',
          attr: { dtype: { type: image.dtype }, shape: { shape: image.tensorShape } },
        },
        constant('axes', 'DT_INT32', 2),
        constant('weights', 'DT_FLOAT', 3, 5),
        {
          name: 'colour',
          op: 'Mean',
          input: ['image', 'axes'],
          attr: { ...FLOAT, ...attributes({ Tidx: 'DT_INT32' }), keep_dims: { b: false } },
        },
        {
          name: 'logits',
          op: 'MatMul',
          input: ['colour', 'weights'],
          attr: { ...FLOAT, transpose_a: { b: false }, transpose_b: { b: false } },
        },
        { name: 'classes', op: 'Softmax', input: ['logits'], attr: FLOAT },
      ],
      versions: { producer: 1087 },
    },
    weightsManifest: [
      {
        paths: ['weights.bin'],
        weights: [
          { name: 'weights', shape: [3, 5], dtype: 'float32' },
          { name: 'axes', shape: [2], dtype: 'int32' },
        ],
      },
    ],
  };
  const file = path.join(folder, 'model.json');
  fs.writeFileSync(file, JSON.stringify(model));
  return file;
}
