#include "host_allocator.h"

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <unordered_set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/common_runtime/bfc_allocator.h"
#include "tensorflow/core/common_runtime/pool_allocator.h"
#include "tensorflow/core/platform/mem.h"
#include "tensorflow/core/platform/mutex.h"
#include "tensorflow/core/platform/numa.h"
#include "tensorflow/core/util/util.h"
#include "tsl/framework/allocator_registry.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

constexpr char kName[] = "cpu";

// The machine's, or what the variable of oneDNN's allocator says.
size_t MostBytes() {
  const char* said = std::getenv("TF_MKL_ALLOC_MAX_BYTES");
  uint64_t bytes = 0;
  if (said != nullptr && absl::SimpleAtoi(said, &bytes)) return bytes;
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

std::unique_ptr<tf::SubAllocator> NewSubAllocator() {
  return std::make_unique<tf::BasicCPUAllocator>(tf::port::kNUMANoAffinity,
                                                 std::vector<tf::SubAllocator::Visitor>(),
                                                 std::vector<tf::SubAllocator::Visitor>());
}

tf::BFCAllocator::Options OptionsOfLarge() {
  tf::BFCAllocator::Options options;
  options.allow_growth = true;
  options.allow_retry_on_failure = false;
  return options;
}

// Small blocks are malloc's, which many threads can ask at once; large ones stay mapped, and are given out
// again without page faults.
class HostAllocator : public tf::Allocator {
 public:
  HostAllocator() : large_(NewSubAllocator(), MostBytes(), kName, OptionsOfLarge()) {}

  std::string Name() override { return kName; }

  void* AllocateRaw(size_t alignment, size_t num_bytes) override {
    if (num_bytes < kLarge) return tf::port::AlignedMalloc(num_bytes, static_cast<int>(alignment));
    void* block = large_.AllocateRaw(alignment, num_bytes);
    if (block != nullptr) {
      tf::mutex_lock lock(mutex_);
      large_blocks_.insert(block);
    }
    return block;
  }

  void DeallocateRaw(void* block) override {
    if (TakeLarge(block)) {
      large_.DeallocateRaw(block);
    } else {
      tf::port::AlignedFree(block);
    }
  }

  absl::optional<tf::AllocatorStats> GetStats() override { return large_.GetStats(); }
  bool ClearStats() override { return large_.ClearStats(); }

 private:
  static constexpr size_t kLarge = 256 << 10;

  bool TakeLarge(void* block) {
    tf::mutex_lock lock(mutex_);
    return large_blocks_.erase(block) > 0;
  }

  tf::BFCAllocator large_;
  tf::mutex mutex_;
  std::unordered_set<void*> large_blocks_;
};

class HostAllocatorFactory : public tsl::AllocatorFactory {
 public:
  bool NumaEnabled() override { return false; }
  tf::Allocator* CreateAllocator() override { return new HostAllocator; }
  tf::SubAllocator* CreateSubAllocator(int) override { return NewSubAllocator().release(); }
};

// oneDNN's has 200.
constexpr int kPriority = 300;

}  // namespace

void UseHostAllocator() {
  // Once for each copy of the addon in the process, which need names of their own.
  static const bool done = [] {
    tsl::AllocatorFactoryRegistry* registry = tsl::AllocatorFactoryRegistry::singleton();
    // Other code of the process may use TensorFlow, which then ends it at another allocator.
    if (!tf::IsMKLEnabled() || registry->process_state() != nullptr) return true;
    const std::string name =
        absl::StrCat("TftrtHostAllocator_", absl::Hex(reinterpret_cast<uintptr_t>(kName)));
    registry->Register(__FILE__, __LINE__, name, kPriority, new HostAllocatorFactory);
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace tftrt
