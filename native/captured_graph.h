// A callable as a CUDA graph: recorded once, for inputs of fixed shapes, and replayed with one call of the
// driver.
//
// A CUDA graph writes to the same memory in each replay, scratch memory included, which TensorFlow's
// allocator took back when the recording ended. So the callable runs on a device of its own with an allocator
// of its own (the arena), and what is left of the block that it was recorded in stays taken as long as the
// graph lives. Replays go on the ordinary compute stream: they are in order with everything else there, and
// with each other.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "cuda_driver.h"
#include "output_read.h"
#include "program.h"
#include "runtime.h"

namespace tftrt {

// Held by whoever needs memory of the arena, or takes all of it for a while. Only one graph is recorded at a
// time: its memory is what it alone takes. TensorFlow does not survive an engine that finds none.
std::mutex& ArenaMutex();

// For a recording; taken after ArenaMutex.
std::unique_lock<std::shared_mutex> LockForRecording();
// For work that may wait for the whole GPU, as TensorRT does when it loads an engine: the driver refuses such
// a wait while a stream is recorded. Not to be taken twice by a thread.
std::shared_lock<std::shared_mutex> HoldOffRecording();

// An input of a replay: a tensor, or values on the host that are copied straight into the graph's own input.
struct CapturedInput {
  tensorflow::TensorHandle* tensor = nullptr;
  const void* host = nullptr;
};

class CapturedGraph {
 public:
  // Records a callable of a program that is placed on the arena, and that feeds and fetches there. All inputs
  // and outputs are float32; `samples` give the shapes, and are used to warm up. Throws TFTRT_NOT_CAPTURED
  // with the reason where that cannot be done.
  CapturedGraph(Runtime& runtime, std::shared_ptr<Program> program,
                const tensorflow::CallableOptions& options, const std::vector<HandlePtr>& samples);
  ~CapturedGraph();

  size_t inputs() const { return inputs_.size(); }
  // The size that values on the host must have.
  size_t input_bytes(size_t index) const { return inputs_[index].TotalBytes(); }
  // Enqueues copies, replay and copies; the outputs are ordinary tensors of the ordinary device. `reads`,
  // where it is not null, gets what belongs to each of them until it is read.
  std::vector<HandlePtr> Run(const std::vector<CapturedInput>& inputs,
                             std::vector<std::unique_ptr<OutputRead>>* reads);

 private:
  class Plugs;

  void RequireCapturable(const tensorflow::CallableOptions& options);
  struct RunMemory {
    int64_t peak_bytes;
    int64_t allocations;
  };
  void Measure();
  RunMemory MeasureRun();
  void TakeAllButRoom(Plugs* block, Plugs* others);
  tensorflow::Allocator* ArenaAllocator() const;
  void Record();
  void Instantiate();
  void DestroyGraph();
  void UploadInPieces(size_t input, const void* source);
  void UploadAhead(size_t input, const void* source);
  std::vector<std::unique_ptr<OutputRead>> BeginReads(const std::vector<CapturedInput>& inputs);

  Runtime& runtime_;
  std::shared_ptr<Program> program_;
  std::unique_ptr<Callable> callable_;
  std::vector<tensorflow::Tensor> inputs_;
  std::vector<tensorflow::Tensor> outputs_;
  const std::shared_ptr<ReadHabit> habit_ = std::make_shared<ReadHabit>();
  bool may_use_cudnn_ = false;
  // What a run takes of the arena: so much in one block, in so many pieces.
  size_t room_ = 0;
  int64_t allocations_ = 0;
  std::unique_ptr<Plugs> scratch_;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;

  // Replays share the static inputs: one at a time, from the first copy in to the last one out.
  std::mutex mutex_;
  struct Staging {
    tensorflow::Tensor tensor;
    CUevent copied = nullptr;
  };
  Staging& FreeStaging(size_t input);
  std::vector<Staging> staging_;  // two for each input: one is filled while the other is copied from
  size_t turn_ = 0;
  // For a large input: device memory that is filled while the replay before still uses the input.
  struct Ahead {
    tensorflow::Tensor tensor;
    CUevent free = nullptr;
    CUevent filled = nullptr;
  };
  std::vector<Ahead> ahead_;
};

}  // namespace tftrt
