// For tests: TensorFlow alone, with nothing of this project's, runs a GraphDef.
//
//   plain_tensorflow GRAPH NAME=SHAPE=FILE ... -- OUTPUT ...
//
// NAME is a float32 input, SHAPE its sizes with commas between (nothing: a scalar), FILE its values as they
// are in memory. Prints each output's values on a line. Finds TensorFlow by LD_LIBRARY_PATH.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tensorflow/c/c_api.h"

namespace {

void* library;

template <typename Function>
Function* Find(const char* name) {
  void* found = dlsym(library, name);
  if (found == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(2);
  }
  return reinterpret_cast<Function*>(found);
}
#define CALL(name) Find<decltype(name)>(#name)

TF_Status* status;

void Require() {
  if (CALL(TF_GetCode)(status) == TF_OK) return;
  std::fprintf(stderr, "%s\n", CALL(TF_Message)(status));
  std::exit(1);
}

std::string ReadFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

TF_Output Endpoint(TF_Graph* graph, const std::string& name) {
  TF_Operation* operation = CALL(TF_GraphOperationByName)(graph, name.c_str());
  if (operation == nullptr) {
    std::fprintf(stderr, "the graph has no %s\n", name.c_str());
    std::exit(1);
  }
  return {operation, 0};
}

TF_Tensor* MakeTensor(const std::string& shape, const std::string& file) {
  std::vector<int64_t> sizes;
  std::istringstream stream(shape);
  for (std::string size; std::getline(stream, size, ',');) sizes.push_back(std::stoll(size));
  const std::string values = ReadFile(file);
  TF_Tensor* tensor =
      CALL(TF_AllocateTensor)(TF_FLOAT, sizes.data(), static_cast<int>(sizes.size()), values.size());
  values.copy(static_cast<char*>(CALL(TF_TensorData)(tensor)), values.size());
  return tensor;
}

}  // namespace

int main(int count, char** arguments) {
  library = dlopen("libtensorflow_cc.so.2", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  status = CALL(TF_NewStatus)();
  TF_Graph* graph = CALL(TF_NewGraph)();
  const std::string definition = ReadFile(arguments[1]);
  TF_Buffer* buffer = CALL(TF_NewBufferFromString)(definition.data(), definition.size());
  TF_ImportGraphDefOptions* import = CALL(TF_NewImportGraphDefOptions)();
  CALL(TF_GraphImportGraphDef)(graph, buffer, import, status);
  Require();

  std::vector<TF_Output> inputs, outputs;
  std::vector<TF_Tensor*> values;
  int i = 2;
  for (; i < count && std::string(arguments[i]) != "--"; ++i) {
    const std::string input = arguments[i];
    const size_t first = input.find('='), second = input.find('=', first + 1);
    inputs.push_back(Endpoint(graph, input.substr(0, first)));
    values.push_back(MakeTensor(input.substr(first + 1, second - first - 1), input.substr(second + 1)));
  }
  for (++i; i < count; ++i) outputs.push_back(Endpoint(graph, arguments[i]));

  TF_SessionOptions* options = CALL(TF_NewSessionOptions)();
  // ConfigProto {gpu_options {allow_growth: true}, allow_soft_placement: true}
  const uint8_t config[] = {0x32, 2, 0x20, 1, 0x38, 1};
  CALL(TF_SetConfig)(options, config, sizeof(config), status);
  Require();
  TF_Session* session = CALL(TF_NewSession)(graph, options, status);
  Require();
  std::vector<TF_Tensor*> results(outputs.size());
  CALL(TF_SessionRun)(session, nullptr, inputs.data(), values.data(), static_cast<int>(inputs.size()),
                      outputs.data(), results.data(), static_cast<int>(outputs.size()), nullptr, 0, nullptr,
                      status);
  Require();
  for (TF_Tensor* result : results) {
    const float* data = static_cast<const float*>(CALL(TF_TensorData)(result));
    for (int64_t j = 0; j < CALL(TF_TensorElementCount)(result); ++j)
      std::printf(j == 0 ? "%.9g" : " %.9g", data[j]);
    std::printf("\n");
  }
  return 0;
}
