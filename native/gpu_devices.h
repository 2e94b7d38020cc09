// TensorFlow's GPU devices. Every session makes them anew for itself, on the same memory and streams.
#pragma once

#include "tensorflow/core/common_runtime/device.h"
#include "tensorflow/core/public/session.h"

namespace tftrt {

// CUDA's number of the GPU that a device is on.
int PlatformDeviceId(const tensorflow::Device& device);

// Many kernels (those of Relu and AddV2, for example) are CUDA modules that the devices of a session load
// when they first run, and unload when the session ends. That may be on any thread, with no context, while
// others launch and record. So all devices on a GPU get the same modules, which are loaded once and stay. To
// be called before the first run; does nothing for devices that are no GPUs.
void ShareKernelModules(tensorflow::Device* device);
void ShareKernelModules(tensorflow::Session* session);

}  // namespace tftrt
