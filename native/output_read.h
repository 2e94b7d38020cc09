// Reading outputs of CUDA graphs straight out of the graphs' own memory.
//
// Who predicts mostly reads the outputs next. So as long as all outputs of a graph's run are read, those of
// the next run are copied to the host as a part of it, before they are copied to tensors of their own: a read
// then waits for one copy less.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "gpu_stream.h"

namespace tftrt {

// What became of a graph's outputs.
class ReadHabit {
 public:
  // Whether the next outputs will be read. Not while some that were copied early are not: they may never be.
  bool IsToRead() const { return were_read_ && early_ == 0; }

 private:
  friend class OutputRead;
  std::atomic<bool> were_read_{false};
  std::atomic<int> early_{0};
};

// Belongs to an output as long as nobody has read it.
class OutputRead {
 public:
  // `early` is the read that began with the run, if one did.
  OutputRead(std::shared_ptr<ReadHabit> habit, std::unique_ptr<GpuRead> early)
      : habit_(std::move(habit)), early_(std::move(early)) {
    if (early_) ++habit_->early_;
  }
  ~OutputRead() {
    if (habit_) End(/*read=*/false);
  }
  OutputRead(const OutputRead&) = delete;
  OutputRead& operator=(const OutputRead&) = delete;

  // The output is being read: gives the read that began, or null.
  std::unique_ptr<GpuRead> Take() {
    std::unique_ptr<GpuRead> early = std::move(early_);
    End(/*read=*/true);
    return early;
  }

 private:
  void End(bool read) {
    if (is_early_) --habit_->early_;
    habit_->were_read_ = read;
    habit_.reset();
  }

  std::shared_ptr<ReadHabit> habit_;
  std::unique_ptr<GpuRead> early_;
  const bool is_early_ = early_ != nullptr;
};

}  // namespace tftrt
