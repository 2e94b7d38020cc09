#include "pinned_pool.h"

#include "absl/strings/str_cat.h"
#include "error.h"
#include "transfers.h"

namespace tftrt {

namespace tf = tensorflow;

PinnedPool::Block::~Block() {
  if (event_ != nullptr) Cuda().EventDestroy(event_);
}

PinnedPool::BlockPtr PinnedPool::Acquire(size_t bytes, bool may_wait) {
  size_t index = 0;
  size_t size = kMinBytes;
  for (; size < bytes; size *= 4) ++index;
  BlockPtr oldest;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    BlocksOfSize& blocks = sizes_.at(index);
    if (!blocks.idle.empty()) {
      BlockPtr block = std::move(blocks.idle.back());
      blocks.idle.pop_back();
      return block;
    }
    if (!blocks.running.empty()) {
      BlockPtr& first = blocks.running.front();
      const CUresult reached = Cuda().EventQuery(first->event());
      if (reached == CUDA_SUCCESS || (may_wait && blocks.running.size() >= kKept)) {
        oldest = std::move(first);
        blocks.running.pop_front();
      }
      if (reached == CUDA_SUCCESS) return oldest;
    }
  }
  if (oldest) {
    GetTransfers().AddSynchronization();
    CheckCuda(Cuda().EventSynchronize(oldest->event()), "waiting for a copy to the GPU");
    return oldest;
  }
  BlockPtr block(new Block());
  block->size_index_ = index;
  block->memory_ = tf::Tensor(allocator_, tf::DT_UINT8, tf::TensorShape({static_cast<int64_t>(size)}));
  if (!block->memory_.IsInitialized()) {
    throw Error("TFTRT_RESOURCE_EXHAUSTED",
                absl::StrCat("cannot pin ", size, " bytes of host memory for copies to and from the GPU"));
  }
  // Waiting for it may put the thread to sleep; see GpuStream::Wait.
  CheckCuda(Cuda().EventCreate(&block->event_, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC),
            "making an event");
  return block;
}

void PinnedPool::Release(BlockPtr block) {
  std::lock_guard<std::mutex> lock(mutex_);
  BlocksOfSize& blocks = sizes_[block->size_index_];
  if (blocks.idle.size() + blocks.running.size() < kKept) blocks.idle.push_back(std::move(block));
}

void PinnedPool::ReleaseAtEvent(BlockPtr block) {
  std::lock_guard<std::mutex> lock(mutex_);
  sizes_[block->size_index_].running.push_back(std::move(block));
}

}  // namespace tftrt
