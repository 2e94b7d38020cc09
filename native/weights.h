// Puts the values of a model's weights into the constants of its graph.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "tensorflow/core/framework/graph.pb.h"

namespace tftrt {

// The values of one constant as JavaScript has them: int32, float32, bool, complex64 or strings.
struct Weight {
  tensorflow::DataType dtype = tensorflow::DT_INVALID;
  std::vector<int64_t> shape;
  const void* data = nullptr;  // borrowed; elements of `dtype`
  size_t bytes = 0;
  std::vector<std::string> strings;
};

// Sets the value of each Const node, of the graph and of its library functions, that has no value of its own,
// from the weight of the same name. The node's dtype is kept: a converter may have narrowed the values (int64
// to int32, double to float), which is undone here. Throws TFTRT_INVALID_ARGUMENT for a constant without a
// weight and for values that do not fit it.
void SetWeights(const std::unordered_map<std::string, Weight>& weights, tensorflow::GraphDef* graph);

}  // namespace tftrt
