// A table of values behind integer handles. A handle that was released stays invalid until its slot was
// reused 127 times, so that a stale handle is an error and not somebody else's value.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "error.h"

namespace tftrt {

template <typename T>
class SlotTable {
 public:
  // `kind` names the values in error messages.
  explicit SlotTable(const char* kind) : kind_(kind), slots_(1) {}

  int32_t Add(T value) {
    uint32_t index;
    if (free_.empty()) {
      index = slots_.size();
      if (index > kIndexMask)
        throw Error("TFTRT_RESOURCE_EXHAUSTED", absl::StrCat("too many live ", kind_, "s"));
      slots_.emplace_back();
    } else {
      index = free_.back();
      free_.pop_back();
    }
    Slot& slot = slots_[index];
    slot.value = std::move(value);
    slot.used = true;
    return static_cast<int32_t>(slot.generation << kIndexBits | index);
  }

  T& Get(int32_t handle) { return Find(handle).value; }

  // Takes the value out; the handle is invalid from here on.
  T Remove(int32_t handle) {
    Slot& slot = Find(handle);
    T value = std::move(slot.value);
    slot.value = T();
    slot.used = false;
    slot.generation = (slot.generation + 1) & kGenerationMask;
    free_.push_back(static_cast<uint32_t>(handle) & kIndexMask);
    return value;
  }

  // Removes all values.
  void Clear() {
    for (uint32_t index = 1; index < slots_.size(); ++index) {
      if (slots_[index].used) Remove(static_cast<int32_t>(slots_[index].generation << kIndexBits | index));
    }
  }

  size_t size() const { return slots_.size() - 1 - free_.size(); }

 private:
  static constexpr uint32_t kIndexBits = 24;
  static constexpr uint32_t kIndexMask = (1u << kIndexBits) - 1;
  static constexpr uint32_t kGenerationMask = 0x7f;

  struct Slot {
    T value{};
    uint32_t generation = 0;
    bool used = false;
  };

  Slot& Find(int32_t handle) {
    const uint32_t bits = static_cast<uint32_t>(handle);
    const uint32_t index = bits & kIndexMask;
    if (handle <= 0 || index >= slots_.size() || !slots_[index].used ||
        slots_[index].generation != bits >> kIndexBits) {
      throw Error("TFTRT_INVALID_HANDLE",
                  absl::StrCat(kind_, " handle ", handle, " is not valid: it was disposed or never made"));
    }
    return slots_[index];
  }

  const char* kind_;
  std::vector<Slot> slots_;  // slot 0 stays unused, so that 0 is never a valid handle
  std::vector<uint32_t> free_;
};

}  // namespace tftrt
