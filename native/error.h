// Errors of the addon: C++ code throws `Error`; the entry points turn it into the JavaScript class
// TftrtError.
#pragma once

#include <exception>
#include <string>

#include "absl/status/status.h"

namespace tftrt {

// `code` is one of the stable codes that src/errors.ts lists.
class Error : public std::exception {
 public:
  Error(std::string code, std::string message) : code_(std::move(code)), message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& code() const { return code_; }

 private:
  std::string code_;
  std::string message_;
};

// Throws an Error whose code is `TFTRT_` and the status code's name, whose message is `context` and
// TensorFlow's own.
void ThrowIfError(const absl::Status& status, const std::string& context);

// The Error for a failure status.
Error ToError(const absl::Status& status, const std::string& context);

}  // namespace tftrt
