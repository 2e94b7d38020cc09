#include "copy_threads.h"

#include <emmintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <mutex>

#include "absl/synchronization/blocking_counter.h"
#include "tensorflow/core/platform/env.h"
#include "tensorflow/core/platform/threadpool.h"
#include "tsl/platform/cpu_info.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

// Waking a thread takes as long as copying some hundred kilobytes.
constexpr size_t kWorthAThread = size_t{2} << 20;
constexpr size_t kMaxThreads = 16;
constexpr size_t kCacheLine = 64;

size_t Cores() { return static_cast<size_t>(tsl::port::MaxParallelism()); }

// Apart from the runtime's asynchronous threads, which wait for these. Never deleted, as the runtime.
tf::thread::ThreadPool* Threads() {
  static auto* threads =
      new tf::thread::ThreadPool(tf::Env::Default(), "tftrt_copy", static_cast<int>(Cores()));
  return threads;
}

}  // namespace

void ShareCopy(size_t bytes, size_t piece_bytes, size_t first_bytes,
               const std::function<void(const NextPiece& next)>& start) {
  std::atomic<size_t> count{0};
  const NextPiece next = [&](Piece* piece) {
    const size_t before = count.fetch_add(1, std::memory_order_relaxed);
    piece->begin = before == 0 ? 0 : first_bytes + (before - 1) * piece_bytes;
    if (piece->begin >= bytes) return false;
    piece->bytes = std::min(first_bytes + before * piece_bytes, bytes) - piece->begin;
    return true;
  };
  const size_t threads = std::min({bytes / kWorthAThread, Cores(), kMaxThreads});
  if (threads < 2) return start(next);

  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&] {
    try {
      start(next);
    } catch (...) {
      std::lock_guard<std::mutex> lock(mutex);
      failure = std::current_exception();
    }
  };
  absl::BlockingCounter left(static_cast<int>(threads - 1));
  for (size_t i = 1; i < threads; ++i) {
    Threads()->Schedule([&] {
      run();
      left.DecrementCount();
    });
  }
  run();
  left.Wait();
  if (failure) std::rethrow_exception(failure);
}

size_t BytesToHugePage(const void* memory) {
  return kHugePage - reinterpret_cast<uintptr_t>(memory) % kHugePage;
}

void ExpectToWrite(void* memory, size_t bytes) {
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(memory) + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + bytes) / kHugePage * kHugePage;
  // Only advice: where it is not taken, the copy is slower.
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

void TouchPages(void* memory, size_t bytes) {
  constexpr size_t kPage = 4096;
  for (size_t i = 0; i < bytes; i += kPage) static_cast<volatile char*>(memory)[i] = 0;
}

void CopyBytes(void* destination, const void* source, size_t bytes) {
  if (bytes < 2 * kWorthAThread) {
    if (bytes > 0) std::memcpy(destination, source, bytes);
    return;
  }
  ExpectToWrite(destination, bytes);
  ShareCopy(bytes, kHugePage, BytesToHugePage(destination), [&](const NextPiece& next) {
    for (Piece piece; next(&piece);) {
      std::memcpy(static_cast<char*>(destination) + piece.begin,
                  static_cast<const char*>(source) + piece.begin, piece.bytes);
    }
  });
}

void CopyForGpu(void* destination, const void* source, size_t bytes) {
  const char* from = static_cast<const char*>(source);
  char* to = static_cast<char*>(destination);
  size_t i = 0;
  if (reinterpret_cast<uintptr_t>(to) % kCacheLine == 0) {
    for (; i + kCacheLine <= bytes; i += kCacheLine) {
      const auto* line = reinterpret_cast<const __m128i*>(from + i);
      const __m128i a = _mm_loadu_si128(line), b = _mm_loadu_si128(line + 1);
      const __m128i c = _mm_loadu_si128(line + 2), d = _mm_loadu_si128(line + 3);
      auto* streamed = reinterpret_cast<__m128i*>(to + i);
      _mm_stream_si128(streamed, a);
      _mm_stream_si128(streamed + 1, b);
      _mm_stream_si128(streamed + 2, c);
      _mm_stream_si128(streamed + 3, d);
    }
    _mm_sfence();
  }
  if (i < bytes) std::memcpy(to + i, from + i, bytes - i);
}

void CopyBooleans(void* destination, const void* source, size_t bytes) {
  const uint8_t* from = static_cast<const uint8_t*>(source);
  uint8_t* to = static_cast<uint8_t*>(destination);
  // One by one, this takes five times as long.
  const __m128i one = _mm_set1_epi8(1);
  size_t i = 0;
  for (; i + sizeof(one) <= bytes; i += sizeof(one)) {
    const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm_min_epu8(values, one));
  }
  for (; i < bytes; ++i) to[i] = from[i] != 0;
}

}  // namespace tftrt
