import type { NativeAddon, NativeRuntime } from '../native';
import { type Attributes, attributeKinds, toAttrValue } from './op_attributes';

/**
 * Ops that compute on the CPU even where there is a GPU: of the sparse ones, its kernels leave indices unchecked and give numbers where
 * tfjs has an error; of the counting ones, it has kernels without weights only. Summaries are written by the host.
 */
const ON_CPU: ReadonlySet<string> = new Set([
  'Bincount',
  'CreateSummaryFileWriter',
  'DenseBincount',
  'FlushSummaryWriter',
  'SparseFillEmptyRows',
  'SparseSegmentMean',
  'SparseSegmentSum',
  'SummaryWriter',
  'WriteScalarSummary',
  'WriteSummary',
]);

/** cuDNN normalizes over so many neighbours on either side. */
const CUDNN_LRN_RADIUS = { min: 1, max: 7 };

function runsOnCpu(op: string, { depth_radius: radius }: Attributes): boolean {
  if (ON_CPU.has(op)) return true;
  return (
    op.startsWith('LRN') && (Number(radius) < CUDNN_LRN_RADIUS.min || Number(radius) > CUDNN_LRN_RADIUS.max)
  );
}

/** A program has some hundred; one that varies an attribute from call to call has no end of them, and starts over. */
const MAX_OPS = 4096;

/** Native ops with their attributes, each made once. They outlive backends, which tfjs may reset. */
export class PreparedOps {
  private static readonly known = new WeakMap<NativeRuntime, PreparedOps>();
  private readonly ids = new Map<string, number>();
  private readonly kinds = new Map<string, ReadonlyMap<string, string>>();

  static of(runtime: NativeRuntime): PreparedOps {
    let ops = PreparedOps.known.get(runtime);
    if (ops === undefined) {
      ops = new PreparedOps(runtime.addon);
      PreparedOps.known.set(runtime, ops);
    }
    return ops;
  }

  private constructor(private readonly addon: NativeAddon) {}

  /** The id of an op with these attributes, for the addon's `execute`. */
  id(op: string, attributes?: Attributes): number {
    let key = op;
    if (attributes !== undefined) {
      for (const name in attributes) key += `;${name}=${attributes[name]}`;
    }
    return this.ids.get(key) ?? this.prepare(key, op, attributes ?? {});
  }

  private prepare(key: string, op: string, attributes: Attributes): number {
    let kinds = this.kinds.get(op);
    if (kinds === undefined) {
      kinds = attributeKinds(this.addon, op);
      this.kinds.set(op, kinds);
    }
    const attr: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(attributes)) attr[name] = toAttrValue(kinds.get(name), value);
    const device = runsOnCpu(op, attributes) ? { device: '/device:CPU:0' } : {};
    if (this.ids.size >= MAX_OPS) {
      this.addon.forgetOps();
      this.ids.clear();
    }
    const id = this.addon.prepareOp(JSON.stringify({ op, attr, ...device }));
    this.ids.set(key, id);
    return id;
  }
}
