// Small helpers for the functions that speak Node-API itself: checked calls, typed arguments.
#pragma once

#include <napi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "error.h"

namespace tftrt {

inline void Check(napi_env env, napi_status status) {
  if (status == napi_ok) return;
  const napi_extended_error_info* info = nullptr;
  napi_get_last_error_info(env, &info);
  throw Error(
      "TFTRT_INVALID_ARGUMENT",
      absl::StrCat("wrong argument in a call of the addon: ",
                   info != nullptr && info->error_message != nullptr ? info->error_message : "unknown"));
}

// The arguments of a call; missing ones are undefined.
template <size_t count>
struct Arguments {
  Arguments(napi_env env, napi_callback_info info) {
    size_t given = count;
    Check(env, napi_get_cb_info(env, info, &given, values, nullptr, nullptr));
  }
  napi_value operator[](size_t index) const { return values[index]; }
  napi_value values[count];
};

struct TypedArray {
  napi_typedarray_type type;
  size_t length;  // elements
  size_t byte_length;
  void* data;
};

inline size_t ElementSize(napi_typedarray_type type) {
  switch (type) {
    case napi_int8_array:
    case napi_uint8_array:
    case napi_uint8_clamped_array: return 1;
    case napi_int16_array:
    case napi_uint16_array: return 2;
    case napi_int32_array:
    case napi_uint32_array:
    case napi_float32_array: return 4;
    default: return 8;
  }
}

inline TypedArray GetTypedArray(napi_env env, napi_value value) {
  TypedArray array;
  bool is_typed_array = false;
  Check(env, napi_is_typedarray(env, value, &is_typed_array));
  if (!is_typed_array) throw Error("TFTRT_INVALID_ARGUMENT", "expected a typed array");
  Check(env, napi_get_typedarray_info(env, value, &array.type, &array.length, &array.data, nullptr, nullptr));
  array.byte_length = array.length * ElementSize(array.type);
  return array;
}

inline int32_t GetInt(napi_env env, napi_value value) {
  int32_t number;
  Check(env, napi_get_value_int32(env, value, &number));
  return number;
}

inline napi_value ToJs(napi_env env, int32_t number) {
  napi_value value;
  Check(env, napi_create_int32(env, number, &value));
  return value;
}

inline napi_value ToJs(napi_env env, bool flag) {
  napi_value value;
  Check(env, napi_get_boolean(env, flag, &value));
  return value;
}

inline napi_value ToJs(napi_env env, const std::string& text) {
  napi_value value;
  Check(env, napi_create_string_utf8(env, text.data(), text.size(), &value));
  return value;
}

inline napi_value Undefined(napi_env env) {
  napi_value value;
  Check(env, napi_get_undefined(env, &value));
  return value;
}

// Adds a function to the addon's exports, or to an object with the same functions for another device. It gets
// as its data what the object wraps: the EnvState.
template <napi_callback function>
void Export(napi_env env, napi_value exports, const char* name) {
  void* state = nullptr;
  Check(env, napi_unwrap(env, exports, &state));
  napi_value value;
  Check(env, napi_create_function(env, name, NAPI_AUTO_LENGTH, function, state, &value));
  Check(env, napi_set_named_property(env, exports, name, value));
}

inline uint32_t GetLength(napi_env env, napi_value array) {
  uint32_t length;
  Check(env, napi_get_array_length(env, array, &length));
  return length;
}

inline napi_value GetElement(napi_env env, napi_value array, uint32_t index) {
  napi_value value;
  Check(env, napi_get_element(env, array, index, &value));
  return value;
}

}  // namespace tftrt
