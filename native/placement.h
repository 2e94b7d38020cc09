// Copies that TensorFlow's eager runtime makes of operands that live elsewhere than a kernel wants them, so
// that they can be counted.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "runtime.h"
#include "tensorflow/core/common_runtime/eager/eager_operation.h"

namespace tftrt {

// Where the kernel for the operation, whose attributes are set, wants each of its inputs: in the memory of
// the GPU or, false, of the host.
std::vector<bool> InputsOnDevice(tensorflow::EagerOperation& operation, size_t inputs);

// Counts the copies that executing the operation will make of its inputs. The runtime waits for each, and
// keeps it with its tensor for later ops.
void CountPlacementCopies(Runtime& runtime, const std::vector<bool>& on_device,
                          absl::Span<tensorflow::TensorHandle* const> inputs);

}  // namespace tftrt
