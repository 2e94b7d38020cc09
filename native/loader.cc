// Opens TensorFlow's and NVIDIA's libraries before the addon that needs them is loaded. Depends on nothing
// but Node-API and the dynamic linker, so that a missing or broken library becomes an error message instead
// of a failed require(). Keeps what the process is configured with, before there is a TensorFlow.

#include <dlfcn.h>
#include <node_api.h>

#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

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

// Reads the call's string arguments; throws a TypeError with `usage` and returns false where one is none.
template <size_t N>
bool ReadStrings(napi_env env, napi_callback_info info, const char* usage, std::string (&strings)[N]) {
  size_t argc = N;
  napi_value arguments[N] = {};
  napi_get_cb_info(env, info, &argc, arguments, nullptr, nullptr);
  for (size_t i = 0; i < N; ++i) {
    size_t length = 0;
    if (i >= argc || napi_get_value_string_utf8(env, arguments[i], nullptr, 0, &length) != napi_ok) {
      napi_throw_type_error(env, nullptr, usage);
      return false;
    }
    strings[i].resize(length);
    napi_get_value_string_utf8(env, arguments[i], strings[i].data(), length + 1, &length);
  }
  return true;
}

napi_value MakeNumber(napi_env env, int number) {
  napi_value value = nullptr;
  napi_create_int32(env, number, &value);
  return value;
}

// A function of a library that is loaded, or null.
void* FindLoaded(const char* name, const char* symbol) {
  void* library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* function = dlsym(library, symbol);
  dlclose(library);  // only gives back what RTLD_NOLOAD counted
  return function;
}

// open(path: string): string | null
// Loads a shared library for the rest of the process' life. Returns the dynamic linker's complaint, or null.
// The symbols stay local: the addon finds them through its own list of needed libraries, and other addons
// (with a protobuf or an absl of their own) do not see them.
napi_value Open(napi_env env, napi_callback_info info) {
  std::string path[1];
  if (!ReadStrings(env, info, "open(path): path must be a string", path)) return nullptr;
  const QuietLog quiet;
  if (dlopen(path[0].c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) != nullptr) return MakeNull(env);
  const char* complaint = dlerror();
  return MakeString(env, complaint == nullptr ? "unknown error of the dynamic linker" : complaint);
}

// version(): string | null
// The version that the loaded libtensorflow_cc reports, or null when none is loaded.
napi_value Version(napi_env env, napi_callback_info) {
  auto version = reinterpret_cast<const char* (*)()>(FindLoaded("libtensorflow_cc.so.2", "TF_Version"));
  return version == nullptr ? MakeNull(env) : MakeString(env, version());
}

// call(library: string, symbol: string): number | null
// Calls a function without arguments of a loaded library; null where there is none. NVIDIA's libraries tell
// their versions so, as small integers.
napi_value Call(napi_env env, napi_callback_info info) {
  std::string names[2];
  if (!ReadStrings(env, info, "call(library, symbol): both must be strings", names)) return nullptr;
  auto function = reinterpret_cast<int (*)()>(FindLoaded(names[0].c_str(), names[1].c_str()));
  return function == nullptr ? MakeNull(env) : MakeNumber(env, function());
}

// driverVersion(): number | null
// The CUDA version that NVIDIA's driver, once opened, can do: 12030 for 12.3.
napi_value DriverVersion(napi_env env, napi_callback_info) {
  auto function = reinterpret_cast<int (*)(int*)>(FindLoaded("libcuda.so.1", "cuDriverGetVersion"));
  int version = 0;
  return function == nullptr || function(&version) != 0 ? MakeNull(env) : MakeNumber(env, version);
}

// What the process's devices are made with. JavaScript's threads and contexts share nothing else that the
// first of them can write and all others, also older ones, can read.
std::mutex configuration_mutex;
std::optional<std::string> process_configuration;

// adoptConfiguration(wanted: string): string | null
// The first call in the process decides, and gets null; later ones get what was decided.
napi_value AdoptConfiguration(napi_env env, napi_callback_info info) {
  std::string wanted[1];
  if (!ReadStrings(env, info, "adoptConfiguration(wanted): wanted must be a string", wanted)) return nullptr;
  std::lock_guard<std::mutex> lock(configuration_mutex);
  if (process_configuration) return MakeString(env, process_configuration->c_str());
  process_configuration = std::move(wanted[0]);
  return MakeNull(env);
}

// dropConfiguration(): void
// For who decided, and could not make the devices.
napi_value DropConfiguration(napi_env, napi_callback_info) {
  std::lock_guard<std::mutex> lock(configuration_mutex);
  process_configuration.reset();
  return nullptr;
}

}  // namespace

NAPI_MODULE_INIT() {
  const napi_property_descriptor functions[] = {
      {"open", nullptr, Open, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"version", nullptr, Version, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"call", nullptr, Call, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"driverVersion", nullptr, DriverVersion, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"adoptConfiguration", nullptr, AdoptConfiguration, nullptr, nullptr, nullptr, napi_enumerable,
       nullptr},
      {"dropConfiguration", nullptr, DropConfiguration, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
  };
  napi_define_properties(env, exports, sizeof(functions) / sizeof(functions[0]), functions);
  return exports;
}
