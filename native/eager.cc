#include "eager.h"

#include "absl/cleanup/cleanup.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "napi_helpers.h"
#include "placement.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

// The number of outputs of an op with these attributes.
int CountOutputs(const tf::OpDef& definition, const tf::NodeDef& node) {
  int count = 0;
  for (const auto& output : definition.output_arg()) {
    if (output.number_attr().empty() && output.type_list_attr().empty()) {
      ++count;
      continue;
    }
    const std::string& name = output.number_attr().empty() ? output.type_list_attr() : output.number_attr();
    const auto given = node.attr().find(name);
    if (given == node.attr().end()) {
      throw Error("TFTRT_INVALID_ARGUMENT",
                  absl::StrCat("op ", node.op(), " needs the attribute ", name, ", its number of outputs"));
    }
    count += output.number_attr().empty() ? given->second.list().type_size() : given->second.i();
  }
  return count;
}

// Argument: a tensorflow.NodeDef in JSON (op, attr and, if wanted, device). Returns the op's id for
// `execute`.
Napi::Value PrepareOp(EnvState& state, const Napi::CallbackInfo& info) {
  tf::NodeDef node;
  ParseJson(info[0].As<Napi::String>(), &node, "an op");
  const tf::OpDef* definition = nullptr;
  ThrowIfError(tf::OpRegistry::Global()->LookUpOpDef(node.op(), &definition), "op");
  PreparedOp op{
      node.op(), node.device(), tf::AttrBuilder(node.op().c_str()), CountOutputs(*definition, node), {}};
  for (const auto& [name, value] : node.attr()) {
    bool known = false;
    for (const auto& attribute : definition->attr()) known |= attribute.name() == name;
    if (!known)
      throw Error("TFTRT_INVALID_ARGUMENT", absl::StrCat("op ", node.op(), " has no attribute ", name));
    op.attributes.Set(name, value);
  }
  state.ops.push_back(std::move(op));
  return Napi::Number::New(info.Env(), state.ops.size() - 1);
}

Napi::Value ForgetOps(EnvState& state, const Napi::CallbackInfo& info) {
  state.ops.clear();
  return info.Env().Undefined();
}

// Few: the dtypes that one op meets in a program. Ops of lists add a kind for each length, and start over.
constexpr size_t kMaxInstances = 32;

bool HasTypes(const PreparedOp::Instance& instance, absl::Span<tf::TensorHandle* const> inputs) {
  if (instance.dtypes.size() != inputs.size()) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (instance.dtypes[i] != inputs[i]->dtype) return false;
  }
  return true;
}

// What runs the op on inputs of these dtypes.
PreparedOp::Instance& SetUp(Runtime& runtime, PreparedOp& op, absl::Span<tf::TensorHandle* const> inputs) {
  for (PreparedOp::Instance& instance : op.instances) {
    if (HasTypes(instance, inputs)) return instance;
  }
  PreparedOp::Instance added;
  added.operation = std::make_unique<tf::EagerOperation>(runtime.eager_context());
  tf::EagerOperation& operation = *added.operation;
  const char* device = op.device.empty() ? runtime.eager_placement() : op.device.c_str();
  ThrowIfError(operation.Reset(op.name.c_str(), device), op.name);
  operation.MutableAttrs()->CopyAttributes(op.attributes);
  for (tf::TensorHandle* input : inputs) {
    ThrowIfError(operation.AddInput(input), op.name);
    added.dtypes.push_back(input->dtype);
  }
  added.kernel = FindDirectKernel(runtime, &operation);
  if (runtime.gpu() != nullptr) added.on_device = InputsOnDevice(operation, inputs.size());
  operation.Clear();  // keeps device and attributes, dtypes among them
  if (op.instances.size() >= kMaxInstances) op.instances.clear();
  return op.instances.emplace_back(std::move(added));
}

// Runs the op in the eager runtime.
absl::InlinedVector<HandlePtr, 4> RunEagerly(const PreparedOp& op, tf::EagerOperation& operation,
                                             absl::Span<tf::TensorHandle* const> inputs) {
  // The operation must not keep its inputs alive.
  const auto clear = absl::MakeCleanup([&operation] { operation.Clear(); });
  for (tf::TensorHandle* input : inputs) ThrowIfError(operation.AddInput(input), op.name);
  int count = op.outputs;
  absl::InlinedVector<tf::AbstractTensorHandle*, 4> results(count);
  ThrowIfError(operation.Execute(absl::MakeSpan(results), &count), op.name);
  absl::InlinedVector<HandlePtr, 4> outputs(count);
  for (int i = 0; i < count; ++i) {
    outputs[i].reset(
        tf::TensorHandleFromInterface(static_cast<tf::ImmediateExecutionTensorHandle*>(results[i])));
  }
  return outputs;
}

// Arguments: op id, number of inputs, whose handles are in the command buffer. Writes [handle, dtype, rank,
// dims...] of each output there and returns their number.
napi_value Execute(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<2> arguments(env, info);
  const size_t id = GetInt(env, arguments[0]);
  const int inputs = GetInt(env, arguments[1]);
  int32_t* commands = state.commands();
  const size_t capacity = state.commands_length();
  if (id >= state.ops.size() || inputs < 0 || static_cast<size_t>(inputs) > capacity) {
    throw Error("TFTRT_INVALID_ARGUMENT", "unknown op or too many inputs");
  }
  PreparedOp& prepared = state.ops[id];
  absl::InlinedVector<tf::TensorHandle*, 4> handles(inputs);
  for (int i = 0; i < inputs; ++i) handles[i] = state.tensors.Get(commands[i]).handle.get();

  PreparedOp::Instance& instance = SetUp(state.runtime(), prepared, handles);
  if (instance.kernel && AreInPlace(state.runtime(), instance.on_device, handles))
    return state.PublishToCommands(env, RunDirectKernel(state.runtime(), instance.kernel.get(), handles));
  CountPlacementCopies(state.runtime(), instance.on_device, handles);
  return state.PublishToCommands(env, RunEagerly(prepared, *instance.operation, handles));
}

// The op's definition (tensorflow.OpDef in JSON), or undefined where TensorFlow has no such op.
Napi::Value OpDefinition(EnvState&, const Napi::CallbackInfo& info) {
  const tf::OpDef* definition = nullptr;
  const std::string name = info[0].As<Napi::String>();
  if (!tf::OpRegistry::Global()->LookUpOpDef(name, &definition).ok()) return info.Env().Undefined();
  return Napi::String::New(info.Env(), ToJson(*definition));
}

}  // namespace

void RegisterEagerFunctions(napi_env env, napi_value exports) {
  Export<Guarded<PrepareOp>>(env, exports, "prepareOp");
  Export<Guarded<ForgetOps>>(env, exports, "forgetOps");
  Export<Guarded<Execute>>(env, exports, "execute");
  Export<Guarded<OpDefinition>>(env, exports, "opDefinition");
}

}  // namespace tftrt
