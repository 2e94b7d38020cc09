// Hash tables of a frozen graph, with what they hold.
#pragma once

#include <string>
#include <vector>

#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/public/session.h"

namespace tftrt {

// Whether the node is a table whose contents FillTables brings along.
bool IsTable(const tensorflow::NodeDef& node);

// Adds nodes to `frozen` that fill the tables among its nodes with what those of the same names hold in
// `session`, whatever filled them there. Returns the nodes to run.
std::vector<std::string> FillTables(tensorflow::Session* session, tensorflow::GraphDef* frozen);

}  // namespace tftrt
