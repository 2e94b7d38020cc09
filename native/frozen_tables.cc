#include "frozen_tables.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "error.h"
#include "graph_def.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_util.h"

namespace tftrt {

namespace tf = tensorflow;

bool IsTable(const tf::NodeDef& node) {
  return node.op() == "HashTableV2" || node.op() == "MutableHashTableV2" ||
         node.op() == "MutableHashTableOfTensorsV2";
}

namespace {

// A table gives its entries in another order in each process, and what is built from a graph is found again
// by the graph.
std::vector<int64_t> OrderOf(const tf::Tensor& keys) {
  std::vector<int64_t> order(keys.NumElements());
  std::iota(order.begin(), order.end(), 0);
  if (keys.dtype() == tf::DT_STRING) {
    const auto text = keys.flat<tf::tstring>();
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return text(a) < text(b); });
  } else {
    const size_t size = tf::DataTypeSize(keys.dtype());
    const absl::string_view bytes = keys.tensor_data();
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return bytes.substr(a * size, size) < bytes.substr(b * size, size);
    });
  }
  return order;
}

tf::Tensor InOrder(const tf::Tensor& rows, const std::vector<int64_t>& order) {
  if (order.empty()) return rows;
  std::vector<tf::Tensor> slices;
  for (const int64_t row : order) slices.push_back(rows.Slice(row, row + 1));
  tf::Tensor sorted;
  ThrowIfError(tf::tensor::Concat(slices, &sorted), "reading the model's tables");
  return sorted;
}

}  // namespace

std::vector<std::string> FillTables(tf::Session* session, tf::GraphDef* frozen) {
  std::vector<tf::NodeDef> tables;
  for (const tf::NodeDef& node : frozen->node()) {
    if (IsTable(node)) tables.push_back(node);
  }
  if (tables.empty()) return {};
  static std::atomic<int> serial{0};
  const int id = serial++;
  tf::GraphDef readers;
  std::vector<std::string> contents;
  for (const tf::NodeDef& table : tables) {
    tf::NodeDef* reader = AddNode(&readers, absl::StrCat("tftrt_export_", id, "_", contents.size()),
                                  "LookupTableExportV2", {table.name()});
    (*reader->mutable_attr())["Tkeys"] = table.attr().at("key_dtype");
    (*reader->mutable_attr())["Tvalues"] = table.attr().at("value_dtype");
    contents.push_back(absl::StrCat(reader->name(), ":0"));
    contents.push_back(absl::StrCat(reader->name(), ":1"));
  }
  ThrowIfError(session->Extend(readers), "reading the model's tables");
  std::vector<tf::Tensor> read;
  ThrowIfError(session->Run({}, contents, {}, &read), "reading the model's tables");

  std::vector<std::string> fillers;
  for (size_t i = 0; i < tables.size(); ++i) {
    const tf::NodeDef& table = tables[i];
    const std::vector<int64_t> order = OrderOf(read[2 * i]);
    const std::string keys = table.name() + "/tftrt_keys", values = table.name() + "/tftrt_values";
    AddConstant(frozen, keys, InOrder(read[2 * i], order));
    AddConstant(frozen, values, InOrder(read[2 * i + 1], order));
    tf::NodeDef* filler =
        AddNode(frozen, table.name() + "/tftrt_fill", "LookupTableImportV2", {table.name(), keys, values});
    (*filler->mutable_attr())["Tin"] = table.attr().at("key_dtype");
    (*filler->mutable_attr())["Tout"] = table.attr().at("value_dtype");
    fillers.push_back(filler->name());
  }
  return fillers;
}

}  // namespace tftrt
