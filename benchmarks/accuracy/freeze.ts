import * as tf from '@tensorflow/tfjs';
import { type AttrValue, bytesAttr, type GraphDef, type NodeDef } from '#src/program/graph_def';

/**
 * Writes a trained network as a graph model for inference: weights are constants, and each batch normalisation is folded
 * into the convolution before it and a bias. Knows the kinds of layers that `makeNetwork` uses.
 */
export function freeze(model: tf.LayersModel): tf.io.ModelArtifacts {
  const graph = new GraphWriter();
  for (const layer of model.layers) {
    const write = WRITERS[layer.getClassName()];
    if (write === undefined) {
      throw new Error(
        `Layer ${layer.name} is a ${layer.getClassName()}; freeze knows ${Object.keys(WRITERS).join(', ')}`,
      );
    }
    const inputs = layer.inboundNodes[0]!.inboundLayers.map((inbound) => graph.outputOf(inbound.name));
    write(graph, layer, inputs);
  }
  return graph.artifacts();
}

type LayerWriter = (graph: GraphWriter, layer: tf.layers.Layer, inputs: string[]) => void;

const FLOAT: AttrValue = { type: 'DT_FLOAT' };
const INT: AttrValue = { type: 'DT_INT32' };
const ints = (...values: number[]): AttrValue => ({ list: { i: values } });

const WRITERS: Readonly<Record<string, LayerWriter>> = {
  InputLayer(graph, layer) {
    const [, ...dims] = (layer.output as tf.SymbolicTensor).shape;
    const dim = [-1, ...dims].map((size) => ({ size: String(size) }));
    graph.add(layer.name, 'Placeholder', [], { dtype: FLOAT, shape: { shape: { dim } } });
  },

  Conv2D(graph, layer, [input]) {
    const { strides, padding, useBias } = layer.getConfig() as {
      strides: number[];
      padding: string;
      useBias: boolean;
    };
    if (useBias)
      throw new Error(`Convolution ${layer.name} has a bias; freeze expects a batch normalisation after it`);
    const filter = graph.constant(`${layer.name}/filter`, valuesOf(layer)[0]!);
    graph.add(layer.name, 'Conv2D', [input!, filter], {
      T: FLOAT,
      strides: ints(1, ...strides, 1),
      dilations: ints(1, 1, 1, 1),
      padding: bytesAttr(padding.toUpperCase()),
      data_format: bytesAttr('NHWC'),
      explicit_paddings: { list: {} },
      use_cudnn_on_gpu: { b: true },
    });
  },

  BatchNormalization(graph, layer, [convolution]) {
    const [gamma, beta, mean, variance] = valuesOf(layer).map(({ values }) => values);
    const { epsilon } = layer.getConfig() as { epsilon: number };
    const scale = gamma!.map((value, channel) => value / Math.sqrt(variance![channel]! + epsilon));
    const filter = graph.weightOf(`${convolution}/filter`).values;
    // The filter's last dimension is the output channel.
    for (let i = 0; i < filter.length; i++) filter[i]! *= scale[i % scale.length]!;
    const values = beta!.map((value, channel) => value - mean![channel]! * scale[channel]!);
    const bias = graph.constant(`${layer.name}/bias`, { shape: [values.length], values });
    graph.add(layer.name, 'BiasAdd', [convolution!, bias], { T: FLOAT, data_format: bytesAttr('NHWC') });
  },

  Activation(graph, layer, [input]) {
    const { activation } = layer.getConfig() as { activation: string };
    if (activation !== 'relu')
      throw new Error(`Activation ${layer.name} is ${activation}; freeze knows relu`);
    graph.add(layer.name, 'Relu', [input!], { T: FLOAT });
  },

  Add(graph, layer, inputs) {
    graph.add(layer.name, 'AddV2', inputs, { T: FLOAT });
  },

  MaxPooling2D(graph, layer, [input]) {
    const { poolSize, strides, padding } = layer.getConfig() as {
      poolSize: number[];
      strides: number[];
      padding: string;
    };
    graph.add(layer.name, 'MaxPool', [input!], {
      T: FLOAT,
      ksize: ints(1, ...poolSize, 1),
      strides: ints(1, ...strides, 1),
      padding: bytesAttr(padding.toUpperCase()),
      data_format: bytesAttr('NHWC'),
      explicit_paddings: { list: {} },
    });
  },

  GlobalAveragePooling2D(graph, layer, [input]) {
    const axes = graph.constant(`${layer.name}/axes`, { shape: [2], values: Int32Array.of(1, 2) });
    graph.add(layer.name, 'Mean', [input!, axes], { T: FLOAT, Tidx: INT, keep_dims: { b: false } });
  },

  Dense(graph, layer, [input]) {
    const { activation } = layer.getConfig() as { activation: string };
    if (activation !== 'softmax')
      throw new Error(`Dense layer ${layer.name} has ${activation}; freeze knows softmax`);
    const [kernel, bias] = valuesOf(layer);
    const weights = graph.constant(`${layer.name}/kernel`, kernel!);
    const transposed = { b: false };
    graph.add(`${layer.name}/product`, 'MatMul', [input!, weights], {
      T: FLOAT,
      transpose_a: transposed,
      transpose_b: transposed,
    });
    const offsets = graph.constant(`${layer.name}/bias`, bias!);
    graph.add(`${layer.name}/logits`, 'BiasAdd', [`${layer.name}/product`, offsets], {
      T: FLOAT,
      data_format: bytesAttr('NHWC'),
    });
    graph.add(layer.name, 'Softmax', [`${layer.name}/logits`], { T: FLOAT });
  },
};

interface Weight {
  readonly shape: number[];
  readonly values: Float32Array | Int32Array;
}

/** Copies of a layer's weights; batch normalisation: gamma, beta, mean, variance. */
function valuesOf(layer: tf.layers.Layer): Weight[] {
  return layer
    .getWeights()
    .map((weight) => ({ shape: weight.shape, values: (weight.dataSync() as Float32Array).slice() }));
}

/** Collects nodes and the weights of constants. A layer's last node has the layer's name. */
class GraphWriter {
  private readonly nodes: NodeDef[] = [];
  private readonly weights = new Map<string, Weight>();

  add(name: string, op: string, input: string[], attr: Record<string, AttrValue>): void {
    this.nodes.push({ name, op, input, attr });
  }

  constant(name: string, weight: Weight): string {
    this.weights.set(name, weight);
    this.add(name, 'Const', [], { dtype: weight.values instanceof Int32Array ? INT : FLOAT });
    return name;
  }

  weightOf(constant: string): Weight {
    const weight = this.weights.get(constant);
    if (weight === undefined)
      throw new Error(`There is no convolution to fold into: no constant ${constant}`);
    return weight;
  }

  outputOf(layer: string): string {
    if (!this.nodes.some(({ name }) => name === layer))
      throw new Error(`Layer ${layer} comes after its reader`);
    return layer;
  }

  artifacts(): tf.io.ModelArtifacts {
    const modelTopology: GraphDef = { node: this.nodes, versions: { producer: 1900 } };
    const weights = [...this.weights];
    return {
      modelTopology,
      format: 'graph-model',
      weightSpecs: weights.map(([name, { shape, values }]) => ({
        name,
        shape,
        dtype: values instanceof Int32Array ? 'int32' : 'float32',
      })),
      weightData: Uint8Array.from(
        Buffer.concat(
          weights.map(
            ([, { values }]) => new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
          ),
        ),
      ).buffer,
    };
  }
}

/** A graph model of its own of the frozen network. */
export function loadFrozen(artifacts: tf.io.ModelArtifacts): Promise<tf.GraphModel> {
  return tf.loadGraphModel(tf.io.fromMemory(artifacts));
}
