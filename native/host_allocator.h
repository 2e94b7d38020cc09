// TensorFlow's allocator of host memory, which oneDNN brings, holds its lock while it waits ten seconds for
// memory that, so, nobody can give back: a request that cannot be met stops every thread.
#pragma once

namespace tftrt {

// Has requests for more memory than there is fail at once. To be called before TensorFlow allocates any.
void RefuseImpossibleRequests();

}  // namespace tftrt
