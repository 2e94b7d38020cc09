// Threads that share large copies of host memory: a fresh destination's page faults cost more than the copy,
// and one thread does not fill a bus.
#pragma once

#include <cstddef>
#include <functional>

namespace tftrt {

// Cuts `bytes` into pieces, the first of `first_bytes`, and calls `start` on as many threads as they are
// worth, the calling one among them. Each takes piece after piece from the `next` it is given, which returns
// false when none is left. Returns when all are done; throws what one of them threw.
struct Piece {
  size_t begin = 0;
  size_t bytes = 0;
};
using NextPiece = std::function<bool(Piece*)>;
void ShareCopy(size_t bytes, size_t piece_bytes, size_t first_bytes,
               const std::function<void(const NextPiece& next)>& start);

// A huge page of memory.
constexpr size_t kHugePage = size_t{2} << 20;
// From here to the next huge page: pieces that begin with one need no page that another thread also waits
// for.
size_t BytesToHugePage(const void* memory);

// memcpy, large pieces with several threads.
void CopyBytes(void* destination, const void* source, size_t bytes);

// As memcpy, past the processor's caches where the destination is the beginning of a cache line: a GPU
// fetches from there what was just written more slowly than from memory.
void CopyForGpu(void* destination, const void* source, size_t bytes);

// Bytes other than 0, which tfjs takes for true, become 1: TensorFlow has undefined behaviour with others.
void CopyBooleans(void* destination, const void* source, size_t bytes);

// Says that fresh memory is about to be filled, so that it comes in large pages: a page fault for each 4 KiB
// costs more than the copy.
void ExpectToWrite(void* memory, size_t bytes);

// Takes the page faults of memory that is about to be overwritten.
void TouchPages(void* memory, size_t bytes);

}  // namespace tftrt
