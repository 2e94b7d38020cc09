// What running a node may do beyond computing its outputs, whether its own op does it or one in a function
// that it calls.
#pragma once

#include <string>
#include <unordered_set>

#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace tftrt {

// Names of functions that were looked into already: they are not looked into again.
using SeenFunctions = std::unordered_set<std::string>;

// The op that makes it a matter of values what is run; empty where none does.
std::string ControlFlowOf(const tensorflow::FunctionLibraryDefinition& functions,
                          const tensorflow::NodeDef& node, SeenFunctions* seen);

bool WritesVariables(const tensorflow::FunctionLibraryDefinition& functions, const tensorflow::NodeDef& node,
                     SeenFunctions* seen);

}  // namespace tftrt
