// Pinned host memory that copies to and from a GPU go through, in blocks that are used again and again:
// pinning memory takes far longer than a copy.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda_driver.h"
#include "tensorflow/core/framework/tensor.h"

namespace tftrt {

// All calls are made with the GPU's context current.
class PinnedPool {
 public:
  // The largest block.
  static constexpr size_t kMaxBytes = size_t{2} << 20;

  // `allocator` gives memory that is pinned for the GPU.
  explicit PinnedPool(tensorflow::Allocator* allocator) : allocator_(allocator), sizes_(kSizes) {}

  class Block {
   public:
    ~Block();
    void* data() const { return memory_.data(); }
    // For the user to record and wait for.
    CUevent event() const { return event_; }

   private:
    friend class PinnedPool;
    Block() = default;
    tensorflow::Tensor memory_;
    CUevent event_ = nullptr;
    size_t size_index_ = 0;
  };
  using BlockPtr = std::unique_ptr<Block>;

  // A block of at least `bytes`. Once many blocks of that size are behind copies that still run, it waits for
  // the first of them where `may_wait`, and pins more memory otherwise.
  BlockPtr Acquire(size_t bytes, bool may_wait);
  // Gives back a block that nothing uses any more.
  void Release(BlockPtr block);
  // Gives back a block that is free once its event, recorded behind the copy, is reached.
  void ReleaseAtEvent(BlockPtr block);

 private:
  // Blocks come in powers of 4, from 2 KiB to kMaxBytes.
  static constexpr size_t kMinBytes = size_t{2} << 10;
  static constexpr size_t kSizes = 6;
  // How many of a size are kept.
  static constexpr size_t kKept = 32;

  struct BlocksOfSize {
    std::vector<BlockPtr> idle;
    std::deque<BlockPtr> running;  // oldest first
  };

  tensorflow::Allocator* const allocator_;
  std::mutex mutex_;
  std::vector<BlocksOfSize> sizes_;
};

}  // namespace tftrt
