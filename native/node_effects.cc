#include "node_effects.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "absl/strings/match.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

using Called = std::vector<const tf::FunctionDef*>;

// The functions that the node calls or hands on: its op may be one, and its attributes may name some.
Called CalledBy(const tf::FunctionLibraryDefinition& functions, const tf::NodeDef& node) {
  Called called;
  const auto add = [&](const std::string& name) {
    const tf::FunctionDef* function = functions.Find(name);
    if (function != nullptr) called.push_back(function);
  };
  add(node.op());
  for (const auto& [name, value] : node.attr()) {
    if (value.has_func()) add(value.func().name());
    for (const tf::NameAttrList& function : value.list().func()) add(function.name());
  }
  return called;
}

using Test = std::function<bool(const tf::NodeDef&, const Called&)>;

// Whether the test holds for the node, or for one in the functions that it calls. Stops at the first.
bool HoldsFor(const Test& test, const tf::FunctionLibraryDefinition& functions, const tf::NodeDef& node,
              SeenFunctions* seen) {
  const Called called = CalledBy(functions, node);
  if (test(node, called)) return true;
  for (const tf::FunctionDef* function : called) {
    if (!seen->insert(function->signature().name()).second) continue;
    for (const tf::NodeDef& inner : function->node_def()) {
      if (HoldsFor(test, functions, inner, seen)) return true;
    }
  }
  return false;
}

bool IsControlFlow(const std::string& op) {
  static const auto* ops = new std::unordered_set<std::string>{
      // clang-format off
      "Switch", "RefSwitch", "Merge", "RefMerge", "Enter", "RefEnter", "LoopCond", "NextIteration", "Exit",
      "If", "_If", "StatelessIf", "Case", "StatelessCase", "While", "_While", "StatelessWhile", "For",
      "MapDefun", "RemoteCall", "SymbolicGradient",
      // clang-format on
  };
  return ops->count(op) > 0;
}

// Grappler replaces a call by what is called, unless that says otherwise.
bool StaysACall(const tf::FunctionDef* function) {
  const auto& attributes = function->attr();
  const auto keeps = attributes.find("_noinline");
  return (keeps != attributes.end() && keeps->second.b()) || attributes.contains("api_implements");
}

// By how the op's name begins.
bool IsWriter(const std::string& op) {
  // clang-format off
  for (const char* beginning :
       {"Assign", "ResourceApply", "ResourceSparseApply", "ResourceScatter", "ResourceStridedSliceAssign",
        "Apply", "SparseApply", "ScatterAdd", "ScatterDiv", "ScatterMax", "ScatterMin", "ScatterMul",
        "ScatterSub", "ScatterUpdate", "ScatterNdAdd", "ScatterNdSub", "ScatterNdUpdate",
        "StridedSliceAssign", "LookupTableInsert", "LookupTableRemove", "LookupTableImport"}) {
    // clang-format on
    if (absl::StartsWith(op, beginning)) return true;
  }
  return false;
}

}  // namespace

std::string ControlFlowOf(const tf::FunctionLibraryDefinition& functions, const tf::NodeDef& node,
                          SeenFunctions* seen) {
  std::string found;
  const Test decides = [&found](const tf::NodeDef& inner, const Called& called) {
    if (!IsControlFlow(inner.op()) && !std::any_of(called.begin(), called.end(), StaysACall)) return false;
    found = inner.op();
    return true;
  };
  HoldsFor(decides, functions, node, seen);
  return found;
}

bool WritesVariables(const tf::FunctionLibraryDefinition& functions, const tf::NodeDef& node,
                     SeenFunctions* seen) {
  return HoldsFor([](const tf::NodeDef& inner, const Called&) { return IsWriter(inner.op()); }, functions,
                  node, seen);
}

}  // namespace tftrt
