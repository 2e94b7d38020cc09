#include "host_allocator.h"

// The header declares nothing without it.
#define INTEL_MKL
#include "tensorflow/core/common_runtime/mkl_cpu_allocator.h"
#include "tensorflow/core/util/util.h"
#include "tsl/framework/allocator_registry.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

// Smaller ones are malloc's, and none of the lock's.
constexpr size_t kLarge = 256 << 10;

class HostAllocator : public tf::MklCPUAllocator {
 public:
  void* AllocateRaw(size_t alignment, size_t num_bytes) override {
    if (num_bytes >= kLarge && !HasRoom(num_bytes)) return nullptr;
    return tf::MklCPUAllocator::AllocateRaw(alignment, num_bytes);
  }

 private:
  bool HasRoom(size_t num_bytes) {
    const tf::AllocatorStats stats = *GetStats();
    return static_cast<int64_t>(num_bytes) <= *stats.bytes_limit - stats.bytes_in_use;
  }
};

class HostAllocatorFactory : public tsl::AllocatorFactory {
 public:
  bool NumaEnabled() override { return false; }
  tf::Allocator* CreateAllocator() override { return new HostAllocator; }
  tf::SubAllocator* CreateSubAllocator(int) override { return new tf::MklSubAllocator; }
};

// TensorFlow's own has 200.
constexpr int kPriority = 300;

}  // namespace

void RefuseImpossibleRequests() {
  // Once for the process: a static of a function is made once, whichever thread comes first.
  static const bool done = [] {
    tsl::AllocatorFactoryRegistry* registry = tsl::AllocatorFactoryRegistry::singleton();
    // Other code of the process may use TensorFlow, which then ends it at another allocator.
    if (!tf::IsMKLEnabled() || registry->process_state() != nullptr) return true;
    registry->Register(__FILE__, __LINE__, "HostAllocator", kPriority, new HostAllocatorFactory);
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace tftrt
