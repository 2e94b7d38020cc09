// NVIDIA's driver, opened at run time: the addon also runs where there is none.
#pragma once

#include <cstddef>
#include <string>

#include "third_party/gpus/cuda/include/cuda.h"

namespace tftrt {

// What this project calls: the member's name, the exported symbol.
#define TFTRT_CUDA_FUNCTIONS(F)                       \
  F(GetErrorString, cuGetErrorString)                 \
  F(Init, cuInit)                                     \
  F(DeviceGet, cuDeviceGet)                           \
  F(DeviceGetCount, cuDeviceGetCount)                 \
  F(DeviceTotalMem, cuDeviceTotalMem_v2)              \
  F(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain) \
  F(CtxPushCurrent, cuCtxPushCurrent_v2)              \
  F(CtxPopCurrent, cuCtxPopCurrent_v2)                \
  F(CtxGetDevice, cuCtxGetDevice)                     \
  F(CtxSynchronize, cuCtxSynchronize)                 \
  F(PointerGetAttribute, cuPointerGetAttribute)       \
  F(MemGetAddressRange, cuMemGetAddressRange_v2)      \
  F(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2)            \
  F(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2)            \
  F(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2)            \
  F(StreamCreate, cuStreamCreate)                     \
  F(StreamGetCtx, cuStreamGetCtx)                     \
  F(StreamSynchronize, cuStreamSynchronize)           \
  F(StreamWaitEvent, cuStreamWaitEvent)               \
  F(StreamBeginCapture, cuStreamBeginCapture_v2)      \
  F(StreamEndCapture, cuStreamEndCapture)             \
  F(EventCreate, cuEventCreate)                       \
  F(EventRecord, cuEventRecord)                       \
  F(EventQuery, cuEventQuery)                         \
  F(EventSynchronize, cuEventSynchronize)             \
  F(EventDestroy, cuEventDestroy_v2)                  \
  F(GraphInstantiate, cuGraphInstantiateWithFlags)    \
  F(GraphGetNodes, cuGraphGetNodes)                   \
  F(GraphLaunch, cuGraphLaunch)                       \
  F(GraphExecDestroy, cuGraphExecDestroy)             \
  F(GraphDestroy, cuGraphDestroy)

struct CudaDriver {
#define TFTRT_MEMBER(member, symbol) decltype(&::symbol) member = nullptr;
  TFTRT_CUDA_FUNCTIONS(TFTRT_MEMBER)
#undef TFTRT_MEMBER
};

// The driver; throws TFTRT_GPU_UNAVAILABLE where it is missing or too old. Opened once.
const CudaDriver& Cuda();

// Throws a TFTRT_INTERNAL (TFTRT_RESOURCE_EXHAUSTED when memory ran out) that names `what` and the driver's
// own text.
void CheckCuda(CUresult result, const std::string& what);

// Makes a context (that of a GPU's stream, or the primary one, which TensorFlow uses) the thread's current
// one for a while.
class CudaContext {
 public:
  explicit CudaContext(int platform_device_id);
  explicit CudaContext(CUcontext context);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;
};

}  // namespace tftrt
