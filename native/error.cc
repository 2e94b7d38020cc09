#include "error.h"

#include "absl/strings/str_cat.h"

namespace tftrt {

Error ToError(const absl::Status& status, const std::string& context) {
  std::string message(status.message());
  return Error(absl::StrCat("TFTRT_", absl::StatusCodeToString(status.code())),
               context.empty() ? message : absl::StrCat(context, ": ", message));
}

void ThrowIfError(const absl::Status& status, const std::string& context) {
  if (!status.ok()) throw ToError(status, context);
}

}  // namespace tftrt
