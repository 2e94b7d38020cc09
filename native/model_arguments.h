// Arguments that functions which make programs and graphs have in common, and the jobs that make them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "env_state.h"
#include "napi_helpers.h"
#include "weights.h"

namespace tftrt {

// Makes a program, callable or graph on another thread and puts it into a table afterwards.
template <typename T>
class MakeJob : public Job {
 public:
  MakeJob(SlotTable<std::shared_ptr<T>>& table, std::function<std::shared_ptr<T>()> make)
      : table_(table), make_(std::move(make)) {}
  void Work() override { made_ = make_(); }
  napi_value Finish(napi_env env) override { return ToJs(env, table_.Add(std::move(made_))); }

 private:
  SlotTable<std::shared_ptr<T>>& table_;
  std::function<std::shared_ptr<T>()> make_;
  std::shared_ptr<T> made_;
};

template <typename T>
std::unique_ptr<MakeJob<T>> NewMakeJob(SlotTable<std::shared_ptr<T>>& table,
                                       std::function<std::shared_ptr<T>()> make) {
  return std::make_unique<MakeJob<T>>(table, std::move(make));
}

// Runs the job here and now, or starts it on another thread and returns its promise.
inline Napi::Value RunJob(const Napi::CallbackInfo& info, EnvState& state, bool async,
                          std::unique_ptr<Job> job) {
  if (async) return Napi::Value(info.Env(), state.Start(info.Env(), std::move(job)));
  job->Work();
  return Napi::Value(info.Env(), job->Finish(info.Env()));
}

inline Napi::Array FromStrings(Napi::Env env, const std::vector<std::string>& strings) {
  Napi::Array array = Napi::Array::New(env, strings.size());
  for (uint32_t i = 0; i < strings.size(); ++i) array.Set(i, strings[i]);
  return array;
}

inline std::vector<std::string> ToStrings(const Napi::Array& array) {
  std::vector<std::string> strings;
  for (uint32_t i = 0; i < array.Length(); ++i) strings.push_back(array.Get(i).As<Napi::String>());
  return strings;
}

// The values stay JavaScript's: they must live, unchanged, until the weight is used.
inline Weight ToWeight(int32_t dtype, const Napi::Array& shape, const Napi::Value& values) {
  Weight weight;
  weight.dtype = static_cast<tensorflow::DataType>(dtype);
  for (uint32_t i = 0; i < shape.Length(); ++i)
    weight.shape.push_back(shape.Get(i).As<Napi::Number>().Int64Value());
  if (weight.dtype == tensorflow::DT_STRING) {
    const Napi::Array strings = values.As<Napi::Array>();
    for (uint32_t i = 0; i < strings.Length(); ++i) {
      const Napi::Uint8Array bytes = strings.Get(i).As<Napi::Uint8Array>();
      weight.strings.emplace_back(reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength());
    }
  } else {
    const TypedArray array = GetTypedArray(values.Env(), values);
    weight.data = array.data;
    weight.bytes = array.byte_length;
  }
  return weight;
}

// Four arrays of equal length, from this argument on: names, dtypes, shapes (arrays of numbers), values (a
// typed array, or an array of Uint8Arrays for strings).
inline std::shared_ptr<std::unordered_map<std::string, Weight>> ToWeights(const Napi::CallbackInfo& info,
                                                                          size_t first) {
  const std::vector<std::string> names = ToStrings(info[first].As<Napi::Array>());
  const Napi::Array dtypes = info[first + 1].As<Napi::Array>();
  const Napi::Array shapes = info[first + 2].As<Napi::Array>();
  const Napi::Array values = info[first + 3].As<Napi::Array>();
  auto weights = std::make_shared<std::unordered_map<std::string, Weight>>();
  for (uint32_t i = 0; i < names.size(); ++i) {
    (*weights)[names[i]] =
        ToWeight(dtypes.Get(i).As<Napi::Number>(), shapes.Get(i).As<Napi::Array>(), values.Get(i));
  }
  return weights;
}

}  // namespace tftrt
