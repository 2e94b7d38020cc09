// Where kernels want their operands, and the copies that TensorFlow's eager runtime makes of those that live
// elsewhere, so that they can be counted.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "runtime.h"
#include "tensorflow/core/common_runtime/eager/eager_operation.h"

namespace tftrt {

// Where the kernel for the operation, whose attributes are set, wants each of its inputs: in the memory of
// the GPU or, false, of the host.
std::vector<bool> InputsOnDevice(tensorflow::EagerOperation& operation, size_t inputs);

// Whether each of the inputs is where the kernel wants it, so that nothing has to be copied.
bool AreInPlace(Runtime& runtime, const std::vector<bool>& on_device,
                absl::Span<tensorflow::TensorHandle* const> inputs);

// Counts the copies that executing the operation will make of its inputs. The runtime waits for each, and
// keeps it with its tensor for later ops.
void CountPlacementCopies(Runtime& runtime, const std::vector<bool>& on_device,
                          absl::Span<tensorflow::TensorHandle* const> inputs);

}  // namespace tftrt
