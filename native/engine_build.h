// Building TensorRT engines with TF-TRT. Runs in a process of its own (src/tensorrt/build_process.ts):
// TensorRT may end it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/tensor.h"

namespace tftrt {

struct EngineOptions {
  std::string precision;  // FP32, FP16 or INT8; whether FP32 may be TF32 is the runtime's choice
  int minimum_segment_size = 3;
  int64_t max_workspace_size_bytes = 0;  // 0: as much as there is
  // The oldest mode of TensorRT, with a batch dimension apart from the shapes: the only one that calibrates.
  bool implicit_batch = false;
  // The largest batch of implicit_batch; 0: that of the first sample.
  int max_batch_size = 0;
  // Whether the graph's inputs take the shapes of the samples, and no others, from then on.
  bool declare_shapes = true;
  std::string profile_strategy = "Range";
  bool use_calibration = true;
  // Engine → table, from an earlier calibration.
  std::map<std::string, std::string> calibration_tables;
};

struct EngineGraph {
  // The graph with TRTEngineOp nodes, their segments as functions.
  tensorflow::GraphDef graph;
  std::vector<std::string> engines;
  std::map<std::string, std::string> calibration_tables;
};

using Tensors = std::vector<tensorflow::Tensor>;

// Converts a canonical graph whose feeds are Placeholders, builds its engines and writes each to
// `directory`/<name>.engine. `samples`: one set of inputs, or several of different shapes, which then are the
// corners of the optimisation profile. `calibration`: sets of inputs of the first sample's shapes.
// `progress` is told of each stage.
EngineGraph BuildEngines(tensorflow::GraphDef graph, const std::vector<std::string>& feeds,
                         const std::vector<std::string>& fetches,
                         const std::vector<std::string>& initializers, const EngineOptions& options,
                         const std::vector<Tensors>& samples, const std::vector<Tensors>& calibration,
                         const std::string& directory,
                         const std::function<void(const std::string&)>& progress);

// Makes a graph that loads its engines from `directory` when the returned nodes have run, and that has
// nothing else to compute their segments with: their weights are gone, and a run that TensorRT refuses is an
// error.
std::vector<std::string> LoadEnginesFrom(const std::string& directory,
                                         const std::vector<std::string>& engines,
                                         tensorflow::GraphDef* graph);
// The same graph without the segments' weights, for the disk.
void StripSegments(tensorflow::GraphDef* graph);

// Puts the serialized engines, and what calibration found, into the graph's nodes, as TensorFlow 1's
// converter did. Such a graph loads beside others: the engines' names get `suffix`, since a device knows its
// engines by name.
void EmbedEngines(const std::string& directory, const EngineGraph& built, const std::string& suffix,
                  tensorflow::GraphDef* graph);

}  // namespace tftrt
