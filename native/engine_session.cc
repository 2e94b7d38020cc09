#include "engine_session.h"

#include <utility>
#include <vector>

#include "cuda_driver.h"
#include "device_memory.h"
#include "error.h"
#include "tensorflow/core/common_runtime/device.h"
#include "tensorflow/core/common_runtime/device_factory.h"
#include "tensorflow/core/common_runtime/device_mgr.h"
#include "tensorflow/core/common_runtime/direct_session.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

// Lives as long as its device and the tensors from it, which may outlive the session.
class OrderedAllocator : public tf::AllocatorWrapper {
 public:
  OrderedAllocator(tf::Allocator* wrapped, int platform_device_id, std::shared_ptr<EngineLoads> loads)
      : AllocatorWrapper(wrapped), platform_device_id_(platform_device_id), loads_(std::move(loads)) {}

  void* AllocateRaw(size_t alignment, size_t bytes) override {
    return AllocateRaw(alignment, bytes, tf::AllocationAttributes());
  }
  void* AllocateRaw(size_t alignment, size_t bytes, const tf::AllocationAttributes& attributes) override {
    void* memory = wrapped()->AllocateRaw(alignment, bytes, attributes);
    if (memory == nullptr) return nullptr;
    users_.fetch_add(1);
    WaitWhileLoading();
    return memory;
  }
  void DeallocateRaw(void* memory) override {
    if (memory == nullptr) return;  // Eigen gives back what it did not get
    WaitWhileLoading();
    wrapped()->DeallocateRaw(memory);
    LetGo();
  }
  void LetGo() {
    if (users_.fetch_sub(1) == 1) delete this;
  }
  absl::optional<tf::AllocatorStats> GetStats() override { return wrapped()->GetStats(); }
  bool ClearStats() override { return wrapped()->ClearStats(); }

 private:
  ~OrderedAllocator() override = default;
  void WaitWhileLoading() {
    loads_->IfLoading([this] {
      try {
        const CudaContext context(platform_device_id_);
        Cuda().CtxSynchronize();
      } catch (const Error&) {
        // What is wrong with the GPU is reported by who uses it.
      }
    });
  }

  const int platform_device_id_;
  const std::shared_ptr<EngineLoads> loads_;
  // Its device, and what was allocated.
  std::atomic<int64_t> users_{1};
};

// A GPU's device that is TensorFlow's own in all but its allocator, and that has a resource manager of its
// own: the session clears that of the device that it was given.
class EngineDevice : public tf::Device {
 public:
  EngineDevice(std::unique_ptr<tf::Device> device, int platform_device_id, std::shared_ptr<EngineLoads> loads)
      : tf::Device(device->env(), device->attributes()),
        device_(std::move(device)),
        allocator_(new OrderedAllocator(device_->GetAllocator(tf::AllocatorAttributes()), platform_device_id,
                                        std::move(loads))) {}
  ~EngineDevice() override { allocator_->LetGo(); }

  tf::Allocator* GetAllocator(tf::AllocatorAttributes attributes) override {
    tf::Allocator* allocator = device_->GetAllocator(attributes);
    return allocator == allocator_->wrapped() ? allocator_ : allocator;
  }

  const tf::DeviceBase* UnderlyingDevice() const override { return device_->UnderlyingDevice(); }
  tf::DeviceBase* UnderlyingDevice() override { return device_->UnderlyingDevice(); }
  const CpuWorkerThreads* tensorflow_cpu_worker_threads() const override {
    return device_->tensorflow_cpu_worker_threads();
  }
  const AcceleratorDeviceInfo* tensorflow_accelerator_device_info() const override {
    return device_->tensorflow_accelerator_device_info();
  }
  tsl::thread::ThreadPool* tensorflow_device_thread_pool() override {
    return device_->tensorflow_device_thread_pool();
  }
  tf::Allocator* GetScopedAllocator(tf::AllocatorAttributes attributes, int64_t step) override {
    return device_->GetScopedAllocator(attributes, step);
  }
  tf::ScopedAllocatorMgr* GetScopedAllocatorMgr() const override { return device_->GetScopedAllocatorMgr(); }
  bool has_eigen_cpu_device() const override { return device_->has_eigen_cpu_device(); }
  const Eigen::ThreadPoolDevice* eigen_cpu_device() override { return device_->eigen_cpu_device(); }
  tf::PerOpGpuDevice* MakeGpuDevice() override { return device_->MakeGpuDevice(); }
  absl::Status ReinitializeGpuDevice(tf::OpKernelContext* context, tf::PerOpGpuDevice* device,
                                     tf::DeviceContext* device_context, tf::Allocator* allocator) override {
    return device_->ReinitializeGpuDevice(context, device, device_context, allocator);
  }
  absl::Status MakeTensorFromProto(const tf::TensorProto& proto, const tf::AllocatorAttributes attributes,
                                   tf::Tensor* tensor) override {
    return device_->MakeTensorFromProto(proto, attributes, tensor);
  }
  void CopyTensorInSameDevice(const tf::Tensor* input, tf::Tensor* output, const tf::DeviceContext* context,
                              tf::StatusCallback done) override {
    device_->CopyTensorInSameDevice(input, output, context, std::move(done));
  }
  void Compute(tf::OpKernel* kernel, tf::OpKernelContext* context) override {
    device_->Compute(kernel, context);
  }
  void ComputeAsync(tf::AsyncOpKernel* kernel, tf::OpKernelContext* context,
                    tf::AsyncOpKernel::DoneCallback done) override {
    device_->ComputeAsync(kernel, context, std::move(done));
  }
  absl::Status Sync() override { return device_->Sync(); }
  bool AllowsSyncOnCompletion() const override { return device_->AllowsSyncOnCompletion(); }
  absl::Status RefreshStatus() override { return device_->RefreshStatus(); }
  absl::Status MaybeRewriteGraph(std::unique_ptr<tf::Graph>* graph) override {
    return device_->MaybeRewriteGraph(graph);
  }
  absl::Status TryGetDeviceContext(tf::DeviceContext** context) override {
    return device_->TryGetDeviceContext(context);
  }
  uint64_t SafeAllocFrontier(uint64_t old_value) override { return device_->SafeAllocFrontier(old_value); }
  bool merge_host_to_device_stream() const override { return device_->merge_host_to_device_stream(); }
  bool merge_device_to_host_stream() const override { return device_->merge_device_to_host_stream(); }
  bool merge_device_to_device_stream() const override { return device_->merge_device_to_device_stream(); }

 private:
  const std::unique_ptr<tf::Device> device_;
  OrderedAllocator* const allocator_;
};

}  // namespace

std::unique_ptr<tf::Session> NewEngineSession(const tf::SessionOptions& options,
                                              std::shared_ptr<EngineLoads> loads) {
  std::vector<std::unique_ptr<tf::Device>> devices;
  ThrowIfError(tf::DeviceFactory::AddDevices(options, "/job:localhost/replica:0/task:0", &devices),
               "making the devices of a session");
  for (std::unique_ptr<tf::Device>& device : devices) {
    if (device->device_type() != tf::DEVICE_GPU) continue;
    const int platform_device_id = PlatformDeviceId(*device);
    device = std::make_unique<EngineDevice>(std::move(device), platform_device_id, loads);
  }
  return std::make_unique<tf::DirectSession>(options, new tf::StaticDeviceMgr(std::move(devices)),
                                             /*factory=*/nullptr);
}

}  // namespace tftrt
