// A kernel that is called directly: TensorFlow's eager runtime looks up device, rewrites and kernel anew for
// each call, which takes longer than a small op.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "runtime.h"
#include "tensorflow/core/common_runtime/eager/eager_operation.h"
#include "tensorflow/core/common_runtime/eager/kernel_and_device.h"

namespace tftrt {

using DirectKernel = tensorflow::core::RefCountPtr<tensorflow::KernelAndDeviceOp>;

// The kernel of an operation that is set up with its inputs, on the device that computes; null where the
// eager runtime must decide: for ops that are placed elsewhere or have no kernel there, with a state, with
// resources, or of which oneDNN has kernels of its own.
DirectKernel FindDirectKernel(Runtime& runtime, tensorflow::EagerOperation* operation);

// Runs the kernel. Its inputs are in the memory that it wants them in.
std::vector<HandlePtr> RunDirectKernel(Runtime& runtime, tensorflow::KernelAndDeviceOp* kernel,
                                       absl::Span<tensorflow::TensorHandle* const> inputs);

}  // namespace tftrt
