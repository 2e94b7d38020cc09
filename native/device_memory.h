// How much of a GPU's memory TensorFlow may take, and the part of it that is kept for CUDA graphs.
#pragma once

#include <cstdint>

#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace tftrt {

struct MemoryLimits {
  // All that TensorFlow may take, the arena included; 0: the share that gpu_options has, or nearly all.
  int64_t limit_bytes = 0;
  // 0: no arena, and nothing is captured.
  int64_t arena_bytes = 0;
  bool operator!=(const MemoryLimits& other) const {
    return limit_bytes != other.limit_bytes || arena_bytes != other.arena_bytes;
  }
};

// Puts the limits into the options of the devices that are to be made, before they are. The arena is a second
// device of TensorFlow's on the same GPU, with an allocator of its own. It takes its memory as one block at
// first use, even where the other one grows: see captured_graph.h. Throws TFTRT_INVALID_ARGUMENT where the
// limits do not fit the GPU. Returns whether there will be an arena.
bool LimitMemory(const MemoryLimits& limits, tensorflow::ConfigProto* config);

}  // namespace tftrt
