import { type AttrValue, bytesAttr, type GraphDef, type NodeDef, textOf } from '../../program/graph_def';

/** Where the graph will run decides what TensorFlow has kernels for. */
export interface Target {
  readonly onGpu: boolean;
  /** On the CPU: oneDNN brings the only kernel of the fused depthwise convolution. */
  readonly oneDnn: boolean;
}

/** Ops that exist in converted models only: tfjs-converter made them, TensorFlow has never heard of them. */
export const TFJS_ONLY_OPS: ReadonlySet<string> = new Set([
  'FusedDepthwiseConv2dNative',
  'DepthwiseConv2d',
  'Prelu',
]);

/** What TensorFlow's CPU kernels of `_FusedConv2D` and `_FusedMatMul` fuse, besides the bias. */
const FUSED_ON_CPU: ReadonlySet<string> = new Set(['Relu', 'Relu6', 'Elu', 'LeakyRelu']);

/** What oneDNN's depthwise convolution fuses, besides the bias. */
const FUSED_BY_ONEDNN: ReadonlySet<string> = new Set(['Relu', 'Relu6', 'Elu']);

/** Fused op → the plain op that it grew out of, and the attributes that this one takes over. */
const FUSED_OPS: Record<string, { op: string; output: string; attributes: string[] }> = {
  _FusedConv2D: {
    op: 'Conv2D',
    output: 'output',
    attributes: [
      'T',
      'strides',
      'padding',
      'explicit_paddings',
      'data_format',
      'dilations',
      'use_cudnn_on_gpu',
    ],
  },
  FusedDepthwiseConv2dNative: {
    op: 'DepthwiseConv2dNative',
    output: 'output',
    attributes: ['T', 'strides', 'padding', 'explicit_paddings', 'data_format', 'dilations'],
  },
  _FusedMatMul: { op: 'MatMul', output: 'product', attributes: ['T', 'transpose_a', 'transpose_b'] },
};

/** The name of the first output of the ops that end a rewritten group; function bodies refer to outputs by it. */
const OUTPUT_NAMES: Record<string, string> = {
  Conv2D: 'output',
  _FusedConv2D: 'output',
  DepthwiseConv2dNative: 'output',
  _FusedDepthwiseConv2dNative: 'output',
  MatMul: 'product',
  _FusedMatMul: 'product',
  BiasAdd: 'output',
  Relu: 'activations',
  Relu6: 'activations',
  Elu: 'activations',
  LeakyRelu: 'activations',
  Sigmoid: 'y',
  Tanh: 'y',
  Neg: 'y',
  Mul: 'z',
  Sub: 'z',
  FusedBatchNorm: 'y',
  Identity: 'output',
};

/**
 * The graph of a converted model as TensorFlow can run it: ops fused by the converter become plain ones where TensorFlow
 * has no such kernel, and device names are dropped. The given graph is not changed.
 */
export function rewriteGraph(graph: GraphDef, target: Target): GraphDef {
  const functions = graph.library?.function?.map((definition) => {
    const body = new Rewriter(target, true);
    const nodeDef = body.rewrite(definition.nodeDef ?? []);
    const names = new Set(nodeDef.map(({ name }) => name));
    const scope = definition.signature.name;
    const ret = Object.fromEntries(
      Object.entries(definition.ret ?? {}).map(([name, tensor]) => [
        name,
        body.renamed(scoped(tensor, scope, names)),
      ]),
    );
    return { ...definition, nodeDef, ret };
  });
  return {
    node: new Rewriter(target, false).rewrite(graph.node),
    ...(functions === undefined ? {} : { library: { ...graph.library, function: functions } }),
    ...(graph.versions === undefined ? {} : { versions: graph.versions }),
  };
}

/** The converter gives the constants of a function its name as prefix, but forgets to in what the function returns. */
function scoped(tensor: string, scope: string, names: ReadonlySet<string>): string {
  const node = tensor.split(':')[0]!;
  return !names.has(node) && names.has(`${scope}/${node}`) ? `${scope}/${tensor}` : tensor;
}

class Rewriter {
  /** In a function body, `node:output:0` names an output by its op's word for it, which changes with the op. */
  private readonly outputNames = new Map<string, string>();

  constructor(
    private readonly target: Target,
    private readonly inFunction: boolean,
  ) {}

  rewrite(nodes: NodeDef[]): NodeDef[] {
    const result = nodes.flatMap((node) => this.rewriteNode(node));
    if (this.outputNames.size === 0) return result;
    return result.map((node) => ({ ...node, input: node.input?.map((input) => this.renamed(input)) ?? [] }));
  }

  /** The tensor's name after the rewrite. */
  renamed(tensor: string): string {
    const parts = tensor.split(':');
    if (parts.length !== 3) return tensor;
    const output = this.outputNames.get(parts[0]!);
    return output === undefined ? tensor : [parts[0], output, parts[2]].join(':');
  }

  private rewriteNode(original: NodeDef): NodeDef[] {
    const { device: _, ...node } = original;
    if (node.attr !== undefined && '_output_shapes' in node.attr) {
      const { _output_shapes: __, ...attr } = node.attr;
      node.attr = attr;
    }
    if (node.op === 'DepthwiseConv2d') return [{ ...node, op: 'DepthwiseConv2dNative' }];
    if (node.op === 'Prelu') {
      const [x, alpha] = dataInputs(node) as [string, string];
      return this.finish(node, this.prelu(node, x, alpha));
    }
    if (!(node.op in FUSED_OPS)) return [node];
    if (!this.runsFused(node)) return this.unfuse(node);
    return this.losesNaN(node) ? this.splitActivation(node) : [asTensorFlowsOwn(node)];
  }

  /** Whether TensorFlow has a kernel for the fused node. */
  private runsFused(node: NodeDef): boolean {
    if (this.target.onGpu) return false;
    const isDepthwise = node.op === 'FusedDepthwiseConv2dNative';
    if (isDepthwise && !this.target.oneDnn) return false;
    const { data_format: format, padding, dilations } = node.attr ?? {};
    if (format?.s !== undefined && textOf(format.s) !== 'NHWC') return false;
    const isDilated = dilations?.list?.i?.some((dilation) => Number(dilation) !== 1) ?? false;
    if (isDepthwise && (isDilated || padding?.s === undefined || textOf(padding.s) === 'EXPLICIT'))
      return false;
    const [bias, activation, ...more] = fusedOps(node);
    const activations = isDepthwise ? FUSED_BY_ONEDNN : FUSED_ON_CPU;
    return (
      bias === 'BiasAdd' && more.length === 0 && (activation === undefined || activations.has(activation))
    );
  }

  /** oneDNN's fused ReLUs make 0 of NaN; alone they keep it. */
  private losesNaN(node: NodeDef): boolean {
    return this.target.oneDnn && fusedOps(node).some((name) => name === 'Relu' || name === 'Relu6');
  }

  /** The node with its bias only, and its activation. */
  private splitActivation(node: NodeDef): NodeDef[] {
    const [bias, activation] = fusedOps(node) as [string, string];
    const attr = { ...node.attr, fused_ops: { list: { s: [bytesAttr(bias).s!] } } };
    const name = `${node.name}/${bias}`;
    const biased = asTensorFlowsOwn({ ...node, name, input: dataInputs(node), attr });
    const T = node.attr?.T ?? { type: 'DT_FLOAT' };
    const steps = [biased, { name: node.name, op: activation, input: [this.tensor(biased)], attr: { T } }];
    return this.finish(node, steps);
  }

  /** Splits a fused node into the plain op, the bias and the activation. */
  private unfuse(node: NodeDef): NodeDef[] {
    const { op, attributes } = FUSED_OPS[node.op]!;
    const [x, filter, ...args] = dataInputs(node) as [string, string, ...string[]];
    const T = node.attr?.T ?? { type: 'DT_FLOAT' };
    const steps: NodeDef[] = [
      { name: `${node.name}/${op}`, op, input: [x, filter], attr: pick({ T, ...node.attr }, attributes) },
    ];
    const last = () => this.tensor(steps[steps.length - 1]!);
    for (const fused of fusedOps(node)) {
      switch (fused) {
        case 'BiasAdd': {
          const format = op === 'MatMul' ? undefined : node.attr?.data_format;
          steps.push({
            name: `${node.name}/BiasAdd`,
            op: 'BiasAdd',
            input: [last(), args.shift()!],
            attr: { T, ...(format === undefined ? {} : { data_format: format }) },
          });
          break;
        }
        case 'FusedBatchNorm': {
          const [scale, offset, mean, variance] = args.splice(0, 4);
          steps.push({
            name: `${node.name}/FusedBatchNorm`,
            op: 'FusedBatchNorm',
            input: [last(), scale!, offset!, mean!, variance!],
            attr: {
              T,
              is_training: { b: false },
              ...(node.attr?.epsilon === undefined ? {} : { epsilon: node.attr.epsilon }),
              ...(node.attr?.data_format === undefined ? {} : { data_format: node.attr.data_format }),
            },
          });
          break;
        }
        case 'Prelu':
          steps.push(...this.prelu(node, last(), args.shift()!));
          break;
        default: {
          const alpha = node.attr?.leakyrelu_alpha;
          steps.push({
            name: `${node.name}/${fused}`,
            op: fused,
            input: [last()],
            attr: { T, ...(fused === 'LeakyRelu' && alpha !== undefined ? { alpha } : {}) },
          });
        }
      }
    }
    return this.finish(node, steps);
  }

  /** relu(x) − alpha·relu(−x), of ops that every device, and TensorRT, has. */
  private prelu(node: NodeDef, x: string, alpha: string): NodeDef[] {
    const attr = { T: node.attr?.T ?? { type: 'DT_FLOAT' } };
    const step = (op: string, suffix: string, ...input: string[]): NodeDef => ({
      name: `${node.name}/prelu_${suffix}`,
      op,
      input,
      attr,
    });
    const positive = step('Relu', 'positive', x);
    const negated = step('Neg', 'negated', x);
    const negative = step('Relu', 'negative', this.tensor(negated));
    const scaled = step('Mul', 'scaled', alpha, this.tensor(negative));
    return [
      positive,
      negated,
      negative,
      scaled,
      step('Sub', 'sub', this.tensor(positive), this.tensor(scaled)),
    ];
  }

  /** The last step takes the original's name, so that consumers and fetches find it; control inputs go to the first. */
  private finish(node: NodeDef, steps: NodeDef[]): NodeDef[] {
    const first = steps[0]!;
    first.input = [...(first.input ?? []), ...(node.input ?? []).filter(isControl)];
    const last = steps[steps.length - 1]!;
    last.name = node.name;
    if (this.inFunction) this.outputNames.set(node.name, OUTPUT_NAMES[last.op]!);
    return steps;
  }

  /** The name by which other nodes refer to a step's output. */
  private tensor(step: NodeDef): string {
    return this.inFunction ? `${step.name}:${OUTPUT_NAMES[step.op]}:0` : step.name;
  }
}

/** The fused node under TensorFlow's name for it, with the attributes that its definition has. */
function asTensorFlowsOwn(node: NodeDef): NodeDef {
  const args = dataInputs(node).slice(2);
  const attr = { ...node.attr, fused_ops: { list: { s: fusedOps(node).map((name) => bytesAttr(name).s!) } } };
  if (node.op === 'FusedDepthwiseConv2dNative') {
    const names = [
      'T',
      'strides',
      'padding',
      'data_format',
      'dilations',
      'fused_ops',
      'epsilon',
      'leakyrelu_alpha',
    ];
    return {
      ...node,
      op: '_FusedDepthwiseConv2dNative',
      attr: { ...pick(attr, names), num_args: { i: args.length } },
    };
  }
  if (node.op === '_FusedConv2D') {
    // Converters that ran on an older TensorFlow left out an attribute that the op has now.
    const type = node.attr?.T?.type ?? 'DT_FLOAT';
    return {
      ...node,
      attr: { ...attr, num_args: { i: args.length }, TArgs: { list: { type: args.map(() => type) } } },
    };
  }
  return { ...node, attr };
}

/** What a node fuses after its main op, in order; some converters leave trailing empty or `NoOp` entries. */
function fusedOps(node: NodeDef): string[] {
  return (node.attr?.fused_ops?.list?.s ?? []).map(textOf).filter((name) => name !== '' && name !== 'NoOp');
}

function isControl(input: string): boolean {
  return input.startsWith('^');
}

function dataInputs(node: NodeDef): string[] {
  return (node.input ?? []).filter((input) => !isControl(input));
}

function pick(attr: Record<string, AttrValue>, names: string[]): Record<string, AttrValue> {
  return Object.fromEntries(Object.entries(attr).filter(([name]) => names.includes(name)));
}
