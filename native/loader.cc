// Opens TensorFlow's libraries before the addon that needs them is loaded. Depends on nothing but Node-API
// and the dynamic linker, so that a missing or broken library becomes an error message instead of a failed
// require().

#include <dlfcn.h>
#include <node_api.h>

#include <cstdlib>
#include <string>

namespace {

napi_value MakeNull(napi_env env) {
  napi_value value = nullptr;
  napi_get_null(env, &value);
  return value;
}

napi_value MakeString(napi_env env, const char* text) {
  napi_value value = nullptr;
  napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value);
  return value;
}

// TensorFlow reads the level of its log once, when it has something to say for the first time: while it is
// loaded, to complain three times that parts of its own are registered twice. Errors reach users as
// exceptions, so its log is off unless TF_CPP_MIN_LOG_LEVEL says otherwise; the variable is put back so that
// child processes do not inherit it.
class QuietLog {
 public:
  QuietLog() : was_set_(std::getenv(kLevel) != nullptr) { setenv(kLevel, "3", /*overwrite=*/0); }
  ~QuietLog() {
    if (!was_set_) unsetenv(kLevel);
  }
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;

 private:
  static constexpr const char* kLevel = "TF_CPP_MIN_LOG_LEVEL";
  const bool was_set_;
};

// open(path: string): string | null
// Loads a shared library for the rest of the process' life. Returns the dynamic linker's complaint, or null.
// The symbols stay local: the addon finds them through its own list of needed libraries, and other addons
// (with a protobuf or an absl of their own) do not see them.
napi_value Open(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value argument = nullptr;
  napi_get_cb_info(env, info, &argc, &argument, nullptr, nullptr);
  size_t length = 0;
  if (argc < 1 || napi_get_value_string_utf8(env, argument, nullptr, 0, &length) != napi_ok) {
    napi_throw_type_error(env, nullptr, "open(path): path must be a string");
    return nullptr;
  }
  std::string path(length, '\0');
  napi_get_value_string_utf8(env, argument, path.data(), length + 1, &length);
  const QuietLog quiet;
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) != nullptr) return MakeNull(env);
  const char* complaint = dlerror();
  return MakeString(env, complaint == nullptr ? "unknown error of the dynamic linker" : complaint);
}

// version(): string | null
// The version that the loaded libtensorflow_cc reports, or null when none is loaded.
napi_value Version(napi_env env, napi_callback_info) {
  void* library = dlopen("libtensorflow_cc.so.2", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return MakeNull(env);
  auto version = reinterpret_cast<const char* (*)()>(dlsym(library, "TF_Version"));
  napi_value result = version == nullptr ? MakeNull(env) : MakeString(env, version());
  dlclose(library);
  return result;
}

}  // namespace

NAPI_MODULE_INIT() {
  const napi_property_descriptor functions[] = {
      {"open", nullptr, Open, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"version", nullptr, Version, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
  };
  napi_define_properties(env, exports, sizeof(functions) / sizeof(functions[0]), functions);
  return exports;
}
