import {
  type BackendValues,
  type DataId,
  type DataType,
  engine,
  KernelBackend,
  type Tensor,
  type TensorInfo,
  util,
} from '@tensorflow/tfjs-core';
import { fromTFDataType, toTFDataType } from '../dtypes';
import { TftrtError } from '../errors';
import type { Handle, NativeRuntime } from '../native';
import { isTurnDue, nextTurn } from '../turn';
import { Constants } from './constants';
import { type GpuTensorData, requireGpu } from './gpu_data';
import { MAX_INT32, sizeError } from './limits';
import { PreparedOps } from './prepared_ops';
import { TensorData } from './tensor_data';

/** Copies above this many bytes leave the event loop's thread. */
const ASYNC_COPY_BYTES = 64 * 1024;
/** On a GPU, asynchronous calls copy arrays of up to this many bytes first: a tenth of a millisecond. */
const TAKEN_AT_ONCE_BYTES = 1024 * 1024;

/** tfjs's backend `tftrt`: tensors in TensorFlow's memory, ops and graphs run by TensorFlow. */
export class TftrtBackend extends KernelBackend {
  readonly constants: Constants;
  readonly ops: PreparedOps;
  /** Tensors that came from other backends: their DataIds are those backends' objects. */
  private readonly adopted = new WeakMap<object, TensorData>();
  /** Replaced views of aliased tensors: released by `endCall`. */
  private readonly retiredViews: Handle[] = [];
  private dataIds = 0;
  /** tfjs disposed of this backend, and its native tensors are gone. */
  private gone = false;

  constructor(readonly runtime: NativeRuntime) {
    super();
    this.constants = new Constants(runtime);
    this.ops = PreparedOps.of(runtime);
  }

  // --- tfjs's storage interface -----------------------------------------------------------------------------------

  override write(values: BackendValues, shape: number[], dtype: DataType): DataId {
    const data = new TensorData(this, shape, dtype);
    data.values = values;
    this.count(data, 1);
    return data;
  }

  override move(
    dataId: DataId,
    values: BackendValues,
    shape: number[],
    dtype: DataType,
    refCount: number,
  ): void {
    const data = new TensorData(this, shape, dtype);
    data.values = values;
    data.refCount = refCount;
    this.adopted.set(dataId, data);
    this.count(data, 1);
  }

  override refCount(dataId: DataId): number {
    return this.find(dataId)?.refCount ?? 0;
  }

  override incRef(dataId: DataId): void {
    this.data(dataId).refCount++;
  }

  override disposeData(dataId: DataId, force = false): boolean {
    const data = this.find(dataId);
    if (data === undefined) return true;
    data.refCount--;
    if (!force && data.refCount > 0) return false;
    data.owner = null;
    if (data.handle !== 0 && !this.gone) this.runtime.addon.releaseTensor(data.handle);
    if (data.view !== 0 && !this.gone) this.runtime.addon.releaseTensor(data.view);
    data.handle = 0;
    data.view = 0;
    data.values = null;
    this.adopted.delete(dataId);
    this.count(data, -1);
    return true;
  }

  override numDataIds(): number {
    return this.dataIds;
  }

  override readSync(dataId: DataId): BackendValues {
    const data = this.data(dataId);
    if (data.values !== null) return copyOf(data.values);
    if (data.dtype === 'string') return this.runtime.addon.readStringTensor(data.handle);
    const destination = newValues(data);
    this.runtime.addon.readTensor(data.handle, destination);
    return destination;
  }

  /** Copies off the event loop; the tensor may be disposed of meanwhile. */
  override async read(dataId: DataId): Promise<BackendValues> {
    const data = this.data(dataId);
    if (data.values !== null || data.dtype === 'string') return this.readSync(dataId);
    const destination = newValues(data);
    if (destination.byteLength <= ASYNC_COPY_BYTES && !this.runtime.onGpu) {
      this.runtime.addon.readTensor(data.handle, destination);
      // Let timers and input through: a loop of reads would otherwise keep the event loop to itself.
      if (isTurnDue()) await nextTurn();
    } else {
      await this.runtime.addon.readTensorAsync(data.handle, destination);
    }
    return destination;
  }

  /** Where the values are in device memory: no copy, but of int32 values, which TensorFlow keeps on the host. */
  override readToGPU(dataId: DataId): GpuTensorData {
    const { addon } = this.runtime;
    const { shape, dtype } = this.data(dataId);
    requireGpu(this.runtime, 'dataToGPU()');
    if (dtype === 'string') {
      throw new TftrtError(
        'TFTRT_UNSUPPORTED_DTYPE',
        'dataToGPU() takes numeric tensors: strings live on the host. Use data() for their values.',
      );
    }
    const handle = this.handle({ dataId, shape, dtype });
    const info = addon.tensorOnDevice(handle)
      ? this.alias({ dataId, shape, dtype }, shape)
      : this.adopt(addon.copyToDevice(handle), shape, dtype);
    const [pointer, stream, device] = addon.deviceMemory(this.handle(info));
    const bytes = util.sizeFromShape(shape) * util.bytesPerElement(dtype);
    return { tensorRef: engine().makeTensorFromTensorInfo(info, this), pointer, bytes, stream, device };
  }

  override memory(): { unreliable: boolean; [figure: string]: number | boolean } {
    const { tensorBytes, deviceBytesInUse, devicePeakBytes, deviceLimitBytes } = this.runtime.addon.stats();
    return {
      unreliable: false,
      numBytesInTensorFlow: tensorBytes,
      ...(deviceBytesInUse === undefined ? {} : { numBytesInGPU: deviceBytesInUse }),
      ...(devicePeakBytes === undefined ? {} : { peakBytesInGPU: devicePeakBytes }),
      ...(deviceLimitBytes === undefined ? {} : { limitBytesInGPU: deviceLimitBytes }),
    };
  }

  override async time(f: () => void): Promise<{ kernelMs: number; wallMs: number }> {
    this.runtime.addon.synchronize();
    const start = process.hrtime.bigint();
    f();
    this.runtime.addon.synchronize();
    const kernelMs = Number(process.hrtime.bigint() - start) / 1e6;
    return { kernelMs, wallMs: kernelMs };
  }

  override timerAvailable(): boolean {
    return true;
  }

  override floatPrecision(): 16 | 32 {
    return 32;
  }

  override dispose(): void {
    this.constants.dispose();
    // tfjs forgets the tensors of a backend that it resets or removes, without disposing of them.
    this.runtime.addon.releaseAllTensors();
    this.gone = true;
  }

  // --- for kernels and models -------------------------------------------------------------------------------------

  /** The data behind a DataId; values that live in another backend are moved here first, as tfjs does it. */
  data(dataId: DataId): TensorData {
    if (dataId instanceof TensorData && dataId.owner === this) return dataId;
    const adopted = this.adopted.get(dataId);
    if (adopted !== undefined) return adopted;
    // Not known to tfjs: it was disposed of, and nobody has its values.
    if (!engine().state.tensorInfo.has(dataId)) throw disposedTensor();
    engine().moveData(this, dataId);
    const moved = this.adopted.get(dataId);
    if (moved === undefined) throw disposedTensor();
    return moved;
  }

  /** The handle of a tensor in TensorFlow's memory; uploads the values on first use. */
  handle(info: TensorInfo): Handle {
    const { dataId, shape } = info;
    const data = dataId instanceof TensorData && dataId.owner === this ? dataId : this.data(dataId);
    const handle = data.handle !== 0 ? data.handle : this.upload(data);
    return util.arraysEqual(shape, data.shape) ? handle : this.view(data, shape);
  }

  /**
   * Takes the values of an input of an asynchronous call, so that the caller may write to their typed array, transfer or shrink
   * it right after. On a GPU large ones are left to the call, which reads them off the event loop: that takes milliseconds,
   * and they may have to wait for the GPU. Not those that can shrink: reading what is gone ends the process.
   */
  takeValues({ dataId }: TensorInfo): void {
    const data = this.data(dataId);
    if (data.handle !== 0 || data.taken) return;
    if (!this.runtime.onGpu || data.dtype === 'string') {
      this.upload(data);
    } else if (ArrayBuffer.isView(data.values)) {
      const { byteLength } = data.values;
      const { resizable } = data.values.buffer as { resizable?: boolean }; // not in TypeScript's library yet
      // None has an array that is gone, which is an error later on.
      if (byteLength === 0 || (byteLength > TAKEN_AT_ONCE_BYTES && !resizable)) return;
      data.values = copyOf(data.values);
      data.taken = true;
    }
  }

  /** Uploads large values off the event loop, so that `handle` finds them in TensorFlow's memory. */
  async uploadAsync(info: TensorInfo): Promise<void> {
    const data = this.data(info.dataId);
    const bytes = util.sizeFromShape(data.shape) * 4;
    if (data.handle !== 0 || data.dtype === 'string' || bytes <= ASYNC_COPY_BYTES) return;
    const { addon } = this.runtime;
    this.writeShape(data.shape);
    const dtype = toTFDataType(data.dtype);
    const handle = await addon.createTensorAsync(dtype, data.shape.length, this.uploadable(data));
    // Meanwhile it may have been disposed of, or uploaded by somebody else.
    if (data.owner !== this || data.handle !== 0) {
      addon.releaseTensor(handle);
      return;
    }
    data.handle = handle;
    data.values = null;
  }

  /**
   * float32 values that are on the host only and were not fed before: a CUDA graph takes them without a tensor on the device
   * in between. Not to be changed.
   */
  valuesToFeed({ dataId }: TensorInfo): Float32Array | undefined {
    const data = this.data(dataId);
    if (data.fed || data.handle !== 0 || !(data.values instanceof Float32Array) || data.dtype !== 'float32') {
      return undefined;
    }
    data.fed = true;
    return data.values;
  }

  /** Host values of a tensor without a copy: not to be changed. */
  hostValues(info: TensorInfo): BackendValues {
    const { dataId } = info;
    // A model's weights stay with the device that has them, though those of other devices read them.
    const elsewhere = dataId instanceof TensorData && dataId.owner !== null && dataId.owner !== this;
    if (elsewhere) return dataId.owner!.hostValues(info);
    const data = this.data(dataId);
    return data.values ?? this.readSync(info.dataId);
  }

  /** A tensor from native output number `position` words into `commands`. */
  private outputAt(commands: Int32Array, position: number): TensorInfo {
    const rank = commands[position + 2]!;
    const shape: number[] = new Array(rank);
    for (let i = 0; i < rank; i++) shape[i] = commands[position + 3 + i]!;
    return this.adopt(commands[position]!, shape, fromTFDataType(commands[position + 1]!));
  }

  /** A tensor that owns a native handle. */
  adopt(handle: Handle, shape: number[], dtype: DataType): TensorInfo {
    const data = new TensorData(this, shape, dtype);
    data.handle = handle;
    this.count(data, 1);
    return { dataId: data, shape, dtype };
  }

  /** The tensors that a native call left in `commands`. */
  outputs(count: number, commands: Int32Array = this.runtime.commands): TensorInfo[] {
    const infos: TensorInfo[] = [];
    let position = 0;
    for (let i = 0; i < count; i++) {
      infos.push(this.outputAt(commands, position));
      position += 3 + commands[position + 2]!;
    }
    this.endCall();
    return infos;
  }

  /**
   * Runs a prepared op. Its outputs are then described in `runtime.commands`: handle, dtype, rank and dimensions of each.
   * Returns their number, for which there must be room if they are many.
   */
  call(op: number, handles: readonly Handle[], outputs = 1): number {
    const { runtime } = this;
    if (handles.length > 16 || outputs > 15) runtime.reserve(handles.length, outputs);
    const { commands } = runtime;
    for (let i = 0; i < handles.length; i++) commands[i] = handles[i]!;
    return runtime.addon.execute(op, handles.length);
  }

  /** Runs a prepared op and returns its first output. */
  execute(op: number, handles: readonly Handle[]): TensorInfo {
    const count = this.call(op, handles);
    if (count > 1) this.dropOthers(count);
    return this.outputAt(this.runtime.commands, 0);
  }

  /** Releases all outputs of the last call but the first. */
  dropOthers(count: number): void {
    const { addon, commands } = this.runtime;
    let position = 0;
    for (let i = 0; i < count; i++) {
      if (i > 0) addon.releaseTensor(commands[position]!);
      position += 3 + commands[position + 2]!;
    }
  }

  /** Releases what native calls needed only until they were made. */
  endCall(): void {
    this.constants.release();
    if (this.retiredViews.length === 0) return;
    for (const view of this.retiredViews) this.runtime.addon.releaseTensor(view);
    this.retiredViews.length = 0;
  }

  /** A tensor of another shape that shares the data of `info`: no copy, no new data id. */
  alias(info: TensorInfo, shape: number[]): TensorInfo {
    this.incRef(info.dataId);
    return { dataId: info.dataId, shape, dtype: info.dtype };
  }

  /** Keeps the data alive, whoever disposes of its tensors meanwhile, until `letGo`. */
  hold({ dataId }: TensorInfo): void {
    this.incRef(dataId);
  }

  /** Ends a `hold`, wherever the data are by now. Where that was the last owner, tfjs forgets the data too. */
  letGo({ dataId }: TensorInfo): void {
    const known = engine().state.tensorInfo.get(dataId);
    const holder = known?.backend ?? this;
    if (holder.disposeData(dataId) && known !== undefined) engine().removeDataId(dataId, holder);
  }

  /** A tfjs tensor of data that somebody else owns too. */
  borrow(info: TensorInfo): Tensor {
    return engine().makeTensorFromTensorInfo(this.alias(info, info.shape), this);
  }

  /** Drops a kernel's intermediate result. */
  disposeIntermediate(info: TensorInfo): void {
    this.disposeData(info.dataId);
  }

  /** The data under another shape, for a tensor that is an alias. The last one is kept: loops ask for the same again. */
  private view(data: TensorData, shape: number[]): Handle {
    if (data.view !== 0 && util.arraysEqual(shape, data.viewShape)) return data.view;
    // The op that is being set up may use the old one already.
    if (data.view !== 0) this.retiredViews.push(data.view);
    this.writeShape(shape);
    data.view = this.runtime.addon.reshapeTensor(data.handle, shape.length);
    data.viewShape = shape;
    return data.view;
  }

  private upload(data: TensorData): Handle {
    const { addon } = this.runtime;
    this.writeShape(data.shape);
    if (data.dtype === 'string') {
      data.handle = addon.createStringTensor(data.shape.length, data.values as Uint8Array[]);
    } else {
      data.handle = addon.createTensor(toTFDataType(data.dtype), data.shape.length, this.uploadable(data));
    }
    data.values = null;
    return data.handle;
  }

  private uploadable(data: TensorData): ArrayBufferView {
    const { values, dtype } = data;
    if (values === null) throw disposedTensor();
    if (
      dtype === 'int32' ? values instanceof Int32Array : values instanceof Float32Array && dtype !== 'bool'
    ) {
      return values as ArrayBufferView;
    }
    if (dtype === 'bool' && values instanceof Uint8Array) return values;
    return util.toTypedArray(
      values as Float32Array,
      dtype === 'complex64' ? 'float32' : dtype,
    ) as ArrayBufferView;
  }

  /** Puts the dimensions into `commands` for the next call of the addon. */
  writeShape(shape: number[]): void {
    const { commands } = this.runtime;
    for (let i = 0; i < shape.length; i++) {
      const size = shape[i]!;
      if (size > MAX_INT32) throw sizeError(`The shape [${shape}]`);
      commands[i] = size;
    }
  }

  private find(dataId: DataId): TensorData | undefined {
    if (dataId instanceof TensorData && dataId.owner === this) return dataId;
    return this.adopted.get(dataId);
  }

  /** tfjs counts a complex tensor as three data ids (itself, real and imaginary part); here it is one tensor. */
  private count(data: TensorData, sign: 1 | -1): void {
    this.dataIds += data.dtype === 'complex64' ? 3 * sign : sign;
  }
}

function disposedTensor(): TftrtError {
  return new TftrtError(
    'TFTRT_TENSOR_DISPOSED',
    'The tensor is disposed. Use tensors before they are disposed of, and keep() those that must outlive a tidy().',
  );
}

function newValues(data: TensorData): Float32Array | Int32Array | Uint8Array {
  const size = util.sizeFromShape(data.shape);
  switch (data.dtype) {
    case 'int32':
      return new Int32Array(size);
    case 'bool':
      return new Uint8Array(size);
    case 'complex64':
      return new Float32Array(2 * size);
    default:
      return new Float32Array(size);
  }
}

function copyOf(values: BackendValues): BackendValues {
  // A Buffer's slice shares its memory.
  return Buffer.isBuffer(values) ? new Uint8Array(values) : (values as Float32Array).slice();
}
