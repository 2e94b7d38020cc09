// The cuDNN handle of a GPU, which TensorFlow shares between all its streams there.
//
// Each time it goes to another stream, cuDNN records an event of the handle on that stream. While the stream
// is recorded, the event becomes a part of the recording; and the driver (580.159) dies of SIGSEGV if one
// thread records the event anew, for a convolution elsewhere, while another ends the recording.
#pragma once

#include "absl/status/status.h"
#include "tensorflow/core/common_runtime/device.h"
#include "tensorflow/core/framework/tensor.h"

namespace tftrt {

// Has the handle go to the stream of `gpu`, and makes it if there is none, which takes a second and much
// memory. `scratch` is two float32 values there.
absl::Status MoveCudnnHandle(tensorflow::Device* gpu, const tensorflow::Tensor& scratch);

}  // namespace tftrt
