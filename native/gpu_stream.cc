#include "gpu_stream.h"

#include <cstring>

#include "copy_threads.h"
#include "error.h"
#include "transfers.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

CUdeviceptr ToDevicePointer(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

void CopyElements(void* destination, const void* source, size_t bytes, bool booleans) {
  if (booleans) {
    CopyBooleans(destination, source, bytes);
  } else {
    std::memcpy(destination, source, bytes);
  }
}

}  // namespace

GpuStream::GpuStream(tf::Device* device, CUstream stream, tf::Allocator* pinned_memory)
    : device_(device), stream_(stream), pool_(pinned_memory) {
  CheckCuda(Cuda().StreamGetCtx(stream_, &context_), "finding the GPU's context");
}

void GpuStream::CopyFromHost(void* destination, const void* source, size_t bytes, bool booleans) {
  if (bytes == 0) return;
  EnqueueFromHost(stream_, destination, source, bytes, booleans);
}

void GpuStream::CopyFromHostAside(void* destination, const void* source, size_t bytes, CUevent free,
                                  CUevent filled) {
  const CudaContext current(context_);
  const CUstream stream = upload_stream();
  CheckCuda(Cuda().StreamWaitEvent(stream, free, CU_EVENT_WAIT_DEFAULT), "waiting for the GPU");
  try {
    EnqueueFromHost(stream, destination, source, bytes, /*booleans=*/false);
    CheckCuda(Cuda().EventRecord(filled, stream), "copying to the GPU");
  } catch (...) {
    // The caller may give the memory away.
    Cuda().StreamSynchronize(stream);
    throw;
  }
}

void GpuStream::EnqueueFromHost(CUstream stream, void* destination, const void* source, size_t bytes,
                                bool booleans) {
  GetTransfers().host_to_device.Add(bytes);
  ShareCopy(bytes, PinnedPool::kMaxBytes, PinnedPool::kMaxBytes, [&](const NextPiece& next) {
    const CudaContext current(context_);
    for (Piece piece; next(&piece);) {
      PinnedPool::BlockPtr block = pool_.Acquire(piece.bytes, /*may_wait=*/true);
      CopyElements(block->data(), static_cast<const char*>(source) + piece.begin, piece.bytes, booleans);
      CheckCuda(Cuda().MemcpyHtoDAsync(ToDevicePointer(destination) + piece.begin, block->data(), piece.bytes,
                                       stream),
                "copying to the GPU");
      CheckCuda(Cuda().EventRecord(block->event(), stream), "copying to the GPU");
      pool_.ReleaseAtEvent(std::move(block));
    }
  });
}

void GpuStream::CopyOnDevice(void* destination, const void* source, size_t bytes) {
  if (bytes == 0) return;
  GetTransfers().device_to_device.Add(bytes);
  const CudaContext current(context_);
  CheckCuda(Cuda().MemcpyDtoDAsync(ToDevicePointer(destination), ToDevicePointer(source), bytes, stream_),
            "copying within the GPU");
}

void GpuStream::Synchronize() {
  GetTransfers().AddSynchronization();
  const CudaContext current(context_);
  PinnedPool::BlockPtr block = pool_.Acquire(0, /*may_wait=*/false);
  CheckCuda(Cuda().EventRecord(block->event(), stream_), "waiting for the GPU");
  CheckCuda(Cuda().EventSynchronize(block->event()), "waiting for the GPU");
  pool_.Release(std::move(block));
}

void GpuStream::Wait(CUevent event, std::chrono::microseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  CUresult result;
  while ((result = Cuda().EventQuery(event)) == CUDA_ERROR_NOT_READY) {
    if (std::chrono::steady_clock::now() < end) continue;
    result = Cuda().EventSynchronize(event);
    break;
  }
  CheckCuda(result, "waiting for the GPU");
}

CUstream GpuStream::Ensure(CUstream* stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (*stream == nullptr) CheckCuda(Cuda().StreamCreate(stream, CU_STREAM_NON_BLOCKING), "making a stream");
  return *stream;
}

GpuRead::GpuRead(GpuStream& stream, const void* source, size_t bytes)
    : stream_(stream), source_(static_cast<const char*>(source)), bytes_(bytes) {
  if (bytes == 0) return;
  const CudaContext current(stream_.context_);
  const bool whole = bytes <= PinnedPool::kMaxBytes;
  // Reads are started on the event loop: it never waits here.
  block_ = stream_.pool_.Acquire(whole ? bytes : 0, /*may_wait=*/false);
  if (whole) {
    GetTransfers().device_to_host.Add(bytes);
    CheckCuda(Cuda().MemcpyDtoHAsync(block_->data(), ToDevicePointer(source), bytes, stream_.stream_),
              "copying from the GPU");
  }
  CheckCuda(Cuda().EventRecord(block_->event(), stream_.stream_), "copying from the GPU");
}

GpuRead::~GpuRead() {
  if (block_) stream_.pool_.ReleaseAtEvent(std::move(block_));
}

void GpuRead::Finish(void* destination, std::chrono::microseconds patience) {
  if (bytes_ == 0) return;
  GetTransfers().AddSynchronization();
  const CudaContext current(stream_.context_);
  GpuStream::Wait(block_->event(), patience);
  if (bytes_ <= PinnedPool::kMaxBytes) {
    std::memcpy(destination, block_->data(), bytes_);
  } else {
    FinishPieces(destination, patience);
  }
  stream_.pool_.Release(std::move(block_));
}

// Each thread has the GPU copy its next piece while it copies the one before on.
void GpuRead::FinishPieces(void* destination, std::chrono::microseconds patience) {
  struct Copying {
    Piece piece;
    PinnedPool::BlockPtr block;
  };
  GetTransfers().device_to_host.Add(bytes_);
  ExpectToWrite(destination, bytes_);
  const CUstream read_stream = stream_.read_stream();
  static_assert(PinnedPool::kMaxBytes == kHugePage);
  ShareCopy(bytes_, kHugePage, BytesToHugePage(destination), [&](const NextPiece& next) {
    const CudaContext current(stream_.context_);
    const auto start = [&]() -> Copying {
      Copying copying;
      if (!next(&copying.piece)) return copying;
      copying.block = stream_.pool_.Acquire(copying.piece.bytes, /*may_wait=*/false);
      CheckCuda(Cuda().MemcpyDtoHAsync(copying.block->data(), ToDevicePointer(source_) + copying.piece.begin,
                                       copying.piece.bytes, read_stream),
                "copying from the GPU");
      CheckCuda(Cuda().EventRecord(copying.block->event(), read_stream), "copying from the GPU");
      // While the GPU copies.
      TouchPages(static_cast<char*>(destination) + copying.piece.begin, copying.piece.bytes);
      return copying;
    };
    for (Copying copying = start(); copying.block;) {
      Copying following = start();
      GpuStream::Wait(copying.block->event(), patience);
      std::memcpy(static_cast<char*>(destination) + copying.piece.begin, copying.block->data(),
                  copying.piece.bytes);
      stream_.pool_.Release(std::move(copying.block));
      copying = std::move(following);
    }
  });
}

}  // namespace tftrt
