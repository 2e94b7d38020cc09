#include "cudnn_handle.h"

#include "xla/stream_executor/dnn.h"
#include "xla/stream_executor/stream_executor.h"

namespace tftrt {

namespace tf = tensorflow;
namespace se = stream_executor;

absl::Status MoveCudnnHandle(tf::Device* gpu, const tf::Tensor& scratch) {
  se::Stream* stream = gpu->tensorflow_accelerator_device_info()->stream;
  se::dnn::DnnSupport* dnn = stream->parent()->AsDnn();
  if (dnn == nullptr) return absl::InternalError("TensorFlow cannot use cuDNN");
  // TensorFlow moves the handle as it calls cuDNN: here for the maximum of one value.
  se::dnn::BatchDescriptor value;
  value.set_count(1).set_feature_map_count(1).set_height(1).set_width(1);
  value.set_layout(se::dnn::DataLayout::kBatchDepthYX);
  se::dnn::PoolingDescriptor pooling;
  pooling.set_pooling_mode(se::dnn::PoolingMode::kMaximum).set_window_height(1).set_window_width(1);
  pooling.set_vertical_stride(1).set_horizontal_stride(1);
  float* memory = static_cast<float*>(scratch.data());
  const se::DeviceMemoryBase input(memory, sizeof(float)), output(memory + 1, sizeof(float));
  return dnn->DoPoolForward(se::dnn::DataType::kFloat, stream, pooling, value, input, value, output,
                            /*workspace_allocator=*/nullptr);
}

}  // namespace tftrt
