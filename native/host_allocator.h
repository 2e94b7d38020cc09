// TensorFlow's host memory. The allocator that oneDNN brings holds its lock while it waits ten seconds for
// memory that, so, nobody can give back: a request that cannot be met stops every thread.
#pragma once

namespace tftrt {

// Has TensorFlow take host memory from an allocator that is as fast, and refuses at once. To be called before
// TensorFlow allocates any.
void UseHostAllocator();

}  // namespace tftrt
