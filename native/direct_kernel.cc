#include "direct_kernel.h"

#include "absl/strings/str_cat.h"
#include "error.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

bool IsPlain(tf::DataType dtype) {
  return dtype != tf::DT_RESOURCE && dtype != tf::DT_VARIANT && !tf::IsRefType(dtype);
}

// oneDNN's kernels are registered as ops of their own, under these names.
bool HasOneDnnKernel(const std::string& op) {
  for (const char* prefix : {"_MklNative", "_MklEager", "_Mkl"}) {
    if (tf::GetRegisteredKernelsForOp(absl::StrCat(prefix, op)).kernel_size() > 0) return true;
  }
  return false;
}

}  // namespace

DirectKernel FindDirectKernel(Runtime& runtime, tf::EagerOperation* operation) {
  const tf::OpDef* definition = nullptr;
  if (!tf::OpRegistry::Global()->LookUpOpDef(operation->Name(), &definition).ok()) return nullptr;
  if (definition->is_stateful()) return nullptr;
  // Its rewrites concern the CPU alone.
  if (runtime.gpu() == nullptr && HasOneDnnKernel(operation->Name())) return nullptr;
  // What it was set up for: the eager runtime chooses a device when it runs it.
  if (!tf::DeviceNameUtils::IsSpecification(operation->GetDeviceParsedName(),
                                            runtime.device()->parsed_name())) {
    return nullptr;
  }

  tf::EagerContext* context = runtime.eager_context();
  tf::FunctionLibraryRuntime* library = context->func_lib(runtime.device());
  if (library == nullptr) return nullptr;
  DirectKernel kernel(new tf::KernelAndDeviceOp(/*rendezvous=*/nullptr, /*log_memory=*/false, library,
                                                context->runner(), context->GetCollectiveExecutorHandle(),
                                                context->HostCPU()));
  // An op without a kernel for these dtypes, or with inputs that do not fit: the eager runtime has an error
  // for it.
  const tf::NodeDef& node = operation->MutableAttrs()->BuildNodeDef();
  if (!kernel->Init(/*log_device_placement=*/false, node, nullptr, absl::nullopt).ok()) return nullptr;
  const tf::DataTypeVector& wanted = kernel->input_dtypes();
  const auto inputs = operation->GetInputs();
  if (wanted.size() != inputs.size()) return nullptr;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] != inputs[i]->DataType() || !IsPlain(wanted[i])) return nullptr;
  }
  for (const tf::DataType dtype : kernel->output_dtypes()) {
    if (!IsPlain(dtype)) return nullptr;
  }
  return kernel;
}

std::vector<HandlePtr> RunDirectKernel(Runtime& runtime, tf::KernelAndDeviceOp* kernel,
                                       absl::Span<tf::TensorHandle* const> inputs) {
  tf::EagerKernelArgs arguments(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    // As the eager runtime does it; each handle keeps a second reference, so that no kernel takes its buffer
    // over.
    ThrowIfError(inputs[i]->TensorValue(runtime.eager_context()->CanonicalDevice(inputs[i]->device()),
                                        arguments.MutableInput(i)),
                 kernel->name());
  }
  std::vector<tf::EagerKernelRet> results;
  ThrowIfError(kernel->Run(runtime.eager_context()->StepContainer(), arguments, &results, nullptr,
                           absl::nullopt, absl::nullopt, nullptr),
               kernel->kernel()->type_string());
  std::vector<HandlePtr> outputs;
  outputs.reserve(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const bool on_device = runtime.gpu() != nullptr && kernel->OutputDevice(static_cast<int>(i)) != nullptr;
    outputs.push_back(runtime.Wrap(std::move(std::get<tf::Tensor>(results[i])), on_device));
  }
  return outputs;
}

}  // namespace tftrt
