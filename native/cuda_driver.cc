#include "cuda_driver.h"

#include <dlfcn.h>

#include <mutex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "error.h"

namespace tftrt {

namespace {

constexpr const char* kLibrary = "libcuda.so.1";

CudaDriver Open() {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    throw Error("TFTRT_GPU_UNAVAILABLE",
                absl::StrCat("NVIDIA's driver cannot be opened: ", dlerror(),
                             ". Install the driver (525 or later), or run on the CPU: TFTRT_DEVICE=cpu"));
  }
  CudaDriver driver;
#define TFTRT_FIND(member, symbol)                                                          \
  driver.member = reinterpret_cast<decltype(driver.member)>(dlsym(library, #symbol));       \
  if (driver.member == nullptr) {                                                           \
    throw Error("TFTRT_GPU_UNAVAILABLE",                                                    \
                absl::StrCat("NVIDIA's driver (", kLibrary,                                 \
                             ") has no " #symbol ": it is too old. Install 525 or later")); \
  }
  TFTRT_CUDA_FUNCTIONS(TFTRT_FIND)
#undef TFTRT_FIND
  return driver;
}

}  // namespace

const CudaDriver& Cuda() {
  static const CudaDriver driver = Open();
  return driver;
}

void CheckCuda(CUresult result, const std::string& what) {
  if (result == CUDA_SUCCESS) return;
  const char* text = nullptr;
  Cuda().GetErrorString(result, &text);
  throw Error(result == CUDA_ERROR_OUT_OF_MEMORY ? "TFTRT_RESOURCE_EXHAUSTED" : "TFTRT_INTERNAL",
              absl::StrCat(what, " failed: CUDA error ", result, ", ", text == nullptr ? "unknown" : text));
}

CudaContext::CudaContext(int platform_device_id) {
  static std::mutex mutex;
  static std::vector<CUcontext> contexts;  // retained for good, as TensorFlow does
  CUcontext context;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (contexts.size() <= static_cast<size_t>(platform_device_id)) contexts.resize(platform_device_id + 1);
    CUcontext& known = contexts[platform_device_id];
    if (known == nullptr) {
      CheckCuda(Cuda().Init(0), "starting CUDA");
      CUdevice device;
      CheckCuda(Cuda().DeviceGet(&device, platform_device_id), "opening the GPU");
      CheckCuda(Cuda().DevicePrimaryCtxRetain(&known, device), "opening the GPU's context");
    }
    context = known;
  }
  CheckCuda(Cuda().CtxPushCurrent(context), "entering the GPU's context");
}

CudaContext::CudaContext(CUcontext context) {
  CheckCuda(Cuda().CtxPushCurrent(context), "entering the GPU's context");
}

CudaContext::~CudaContext() {
  CUcontext context;
  Cuda().CtxPopCurrent(&context);
}

}  // namespace tftrt
