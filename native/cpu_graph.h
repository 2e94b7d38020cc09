// Keeps faults of TensorFlow 2.17.1's oneDNN away from the graphs that run on the CPU.
#pragma once

#include "tensorflow/core/framework/graph.pb.h"

namespace tftrt {

// Rewrites, in the graph and its functions:
//
// - Each floating-point Pad as the equal PadV2 with a zero. The oneDNN layout pass merges a Pad into a VALID convolution
//   that reads it on any input, as if it were input 0, and whatever it pads: a pad that feeds a filter, a bias or a fused
//   addition crashes the process, one of the batch or the channels gives wrong numbers. Grappler's remapper does the
//   like to Conv3D. Neither looks at PadV2.
// - Each Conv3D so that TensorFlow's own kernel runs it: oneDNN's gives wrong numbers where the steps of the window leave
//   a remainder of a volume of depth 1. The session needs soft placement for it.
void PrepareForCpu(tensorflow::GraphDef* graph);

}  // namespace tftrt
