// Keeps faults of TensorFlow 2.17.1's oneDNN away from the graphs that run on the CPU.
#pragma once

#include "tensorflow/core/framework/graph.pb.h"

namespace tftrt {

// Rewrites, in the graph and its functions:
//
// - Each floating-point Pad, but those that the passes below merge rightly, as the equal PadV2 with a zero.
// The oneDNN layout pass merges a Pad into a VALID convolution
//   that reads it on any input, as if it were input 0, and whatever it pads: a pad that feeds a filter, a
//   bias or a fused addition crashes the process, one of the batch or the channels gives wrong numbers.
//   Grappler's remapper does the like to Conv3D. Neither looks at PadV2.
// - Each convolution of one channel, with a constant filter, whose steps across are not 1, as one of two
// channels. Where
//   such a convolution makes but one column, oneDNN's kernel reads the wrong cells, even such as lie outside
//   the tensor.
void PrepareForCpu(tensorflow::GraphDef* graph);

}  // namespace tftrt
