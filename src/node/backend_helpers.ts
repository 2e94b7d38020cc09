import { type DataType, engine, type Tensor, type TensorInfo } from '@tensorflow/tfjs-core';
import { TftrtBackend } from '../backend/backend';
import { type CallOperand, dtypeOf, KernelCall } from '../backend/kernels/call';
import { DT, toTFDataType } from '../dtypes';
import { TftrtError } from '../errors';
import { TF } from './binding';
import { type OpAttribute, toAttributes } from './op_attribute_list';
import { getNumOfSavedModels } from './saved_model';

/** What programs for tfjs-node use of its addon: numbers, and counts of what is live. */
export type NodeBinding = typeof TF & {
  readonly TF_Version: string;
  isUsingGpuDevice(): boolean;
  getNumOfTensors(): number;
  getNumOfSavedModels(): number;
};

const bindings = new WeakMap<TftrtBackend, NodeBinding>();

/** The backend with what tfjs-node's backend has for kernels and programs of others: any TensorFlow op, by its name. */
export class NodeBackend extends TftrtBackend {
  /** This package computes on GPUs too. */
  get isGPUPackage(): boolean {
    return true;
  }

  get isUsingGpuDevice(): boolean {
    return this.runtime.onGpu;
  }

  get binding(): NodeBinding {
    let binding = bindings.get(this);
    if (binding === undefined) {
      binding = {
        ...TF,
        TF_Version: this.runtime.tensorFlowVersion,
        isUsingGpuDevice: () => this.isUsingGpuDevice,
        getNumOfTensors: () => this.getNumOfTFTensors(),
        getNumOfSavedModels,
      };
      bindings.set(this, binding);
    }
    return binding;
  }

  /** Tensors in TensorFlow's memory; those whose values are still on the host are none of them. */
  getNumOfTFTensors(): number {
    return this.runtime.addon.stats().tensors - this.runtime.keptConstants;
  }

  getNumOfSavedModels(): number {
    return getNumOfSavedModels();
  }

  /** TensorFlow's number of a dtype of tfjs. */
  getDTypeInteger(dtype: DataType): number {
    const number: number | undefined = toTFDataType(dtype);
    if (number === undefined) throw invalid(`Unsupported DType: ${dtype}`);
    return number;
  }

  typeAttributeFromTensor(value: TensorInfo): number {
    return this.getDTypeInteger(value.dtype);
  }

  /** The attributes of ops such as Sum and Max. */
  createReductionOpAttrs(tensor: TensorInfo, keepDims = false): OpAttribute[] {
    return [
      { name: 'keep_dims', type: TF.TF_ATTR_BOOL, value: keepDims },
      { name: 'T', type: TF.TF_ATTR_TYPE, value: this.getDTypeInteger(tensor.dtype) },
      { name: 'Tidx', type: TF.TF_ATTR_TYPE, value: TF.TF_INT32 },
    ];
  }

  /** Runs an op of one input whose only attribute is its dtype `T`. */
  executeSingleInput(name: string, input: TensorInfo): Tensor {
    const dtype = { name: 'T', type: TF.TF_ATTR_TYPE, value: this.getDTypeInteger(input.dtype) };
    return this.executeSingleOutput(name, [dtype], [input]);
  }

  /** Runs an op; its first output. */
  executeSingleOutput(name: string, opAttrs: OpAttribute[], inputs: TensorInfo[]): Tensor {
    return this.executeMultipleOutputs(name, opAttrs, inputs, 1)[0]!;
  }

  /** Runs an op; its first outputs, as many as asked for. Attributes that are left out follow from the inputs, or are the op's defaults. */
  executeMultipleOutputs(
    name: string,
    opAttrs: OpAttribute[],
    inputs: TensorInfo[],
    numOutputs: number,
  ): Tensor[] {
    if (!Array.isArray(opAttrs) || !Array.isArray(inputs)) {
      throw invalid(`The op ${name} takes a list of attributes and a list of tensors; either may be empty.`);
    }
    const attributes = toAttributes(this.runtime.addon, name, opAttrs);
    const call = new KernelCall({}, {}, this);
    const results: TensorInfo[] = [];
    try {
      const values = call.runAll(name, inputs, attributes, numOutputs);
      if (values.length < numOutputs) {
        throw invalid(`The op ${name} has ${values.length} outputs here, and ${numOutputs} were asked for.`);
      }
      for (const value of values.slice(0, numOutputs)) results.push(call.result(toTfjs(call, value)));
    } catch (error) {
      for (const { dataId } of results) this.disposeData(dataId);
      throw error;
    } finally {
      call.end();
    }
    return results.map((info) => engine().makeTensorFromTensorInfo(info, this));
  }
}

/** Dtypes that tfjs has no tensors of become the one whose values are nearest. */
function toTfjs(call: KernelCall, value: CallOperand): CallOperand {
  switch (dtypeOf(value)) {
    case DT.UINT8:
    case DT.INT8:
    case DT.UINT16:
    case DT.INT16:
      return call.cast(value, 'int32');
    case DT.HALF:
    case DT.BFLOAT16:
      return call.cast(value, 'float32');
    default:
      return value;
  }
}

/** Gives all backends of this package, whatever their device, the members of `NodeBackend`. */
export function installBackendHelpers(): void {
  const { constructor: _constructor, ...members } = Object.getOwnPropertyDescriptors(NodeBackend.prototype);
  Object.defineProperties(TftrtBackend.prototype, members);
}

function invalid(message: string): TftrtError {
  return new TftrtError('TFTRT_INVALID_ARGUMENT', message);
}
