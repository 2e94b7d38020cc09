// The compute stream of one of TensorFlow's GPU devices, and copies that are ordered by it.
//
// TensorFlow's own copies run on streams of their own and tell of their end through a thread that polls,
// which costs a read of some bytes about 50 µs. Here they are calls of the driver.
//
// TensorFlow's allocator hands memory on as soon as it is freed, since all work on it is on this one stream.
// So a copy on the stream may be followed at once by the release of its tensor; a copy on any other stream
// must have ended by then.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>

#include "cuda_driver.h"
#include "pinned_pool.h"
#include "tensorflow/core/common_runtime/device.h"

namespace tftrt {

// How long a thread waits without sleep for a read: one that nothing else could run on meanwhile, one that
// works for the event loop.
constexpr std::chrono::microseconds kPatientRead{5000};
constexpr std::chrono::microseconds kAsyncRead{50};

class GpuStream {
 public:
  // `stream` is the device's compute stream; `pinned_memory` gives host memory that is pinned for the GPU.
  GpuStream(tensorflow::Device* device, CUstream stream, tensorflow::Allocator* pinned_memory);

  tensorflow::Device* device() const { return device_; }
  CUstream handle() const { return stream_; }
  CUcontext context() const { return context_; }

  // Copies host memory to the device; work enqueued later on the stream sees it. `source` is free on return.
  // With `booleans`, bytes other than 0 become 1.
  void CopyFromHost(void* destination, const void* source, size_t bytes, bool booleans);
  // The same beside the stream: begins once `free` is reached, while work that was enqueued later still runs,
  // and records `filled` at its end.
  void CopyFromHostAside(void* destination, const void* source, size_t bytes, CUevent free, CUevent filled);
  // Enqueues a copy within the device's memory.
  void CopyOnDevice(void* destination, const void* source, size_t bytes);
  // Waits, asleep, for all work that is enqueued on the stream.
  void Synchronize();

 private:
  friend class GpuRead;
  // Waits for an event of the pool: awake for `patience`, which is quick, then asleep.
  static void Wait(CUevent event, std::chrono::microseconds patience);
  void EnqueueFromHost(CUstream stream, void* destination, const void* source, size_t bytes, bool booleans);
  // For reads in several pieces: on the compute stream, work that was enqueued meanwhile would come between.
  CUstream read_stream() { return Ensure(&read_stream_); }
  CUstream upload_stream() { return Ensure(&upload_stream_); }
  CUstream Ensure(CUstream* stream);

  tensorflow::Device* const device_;
  const CUstream stream_;
  CUcontext context_ = nullptr;
  PinnedPool pool_;
  std::mutex mutex_;
  CUstream read_stream_ = nullptr;
  CUstream upload_stream_ = nullptr;
};

// A copy of device memory to the host, as it is after all work that is enqueued on the stream when the read
// is made. The memory must stay allocated until Finish returned.
class GpuRead {
 public:
  GpuRead(GpuStream& stream, const void* source, size_t bytes);
  // Without Finish, the read is given up.
  ~GpuRead();
  GpuRead(const GpuRead&) = delete;
  GpuRead& operator=(const GpuRead&) = delete;

  // Waits for the values, for the first `patience` without sleep, and copies them. On any thread.
  void Finish(void* destination, std::chrono::microseconds patience);

 private:
  void FinishPieces(void* destination, std::chrono::microseconds patience);

  GpuStream& stream_;
  const char* const source_;
  const size_t bytes_;
  // Its event follows the copy into the block; for a read in several pieces, which are copied by Finish, it
  // only follows the work that was enqueued before.
  PinnedPool::BlockPtr block_;
};

}  // namespace tftrt
