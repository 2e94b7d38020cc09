// Counters of what passes between the host and GPUs, for the whole process. They show in `stats().transfers`
// that tensors stay where they are.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tftrt {

struct Transfers {
  // A copy is that of one tensor, in however many pieces it went.
  struct Copies {
    std::atomic<int64_t> count{0};
    std::atomic<int64_t> bytes{0};
    void Add(size_t size) {
      count.fetch_add(1, std::memory_order_relaxed);
      bytes.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
    }
  };
  Copies host_to_device;
  Copies device_to_host;
  Copies device_to_device;
  // Waits of a host thread for a GPU.
  std::atomic<int64_t> synchronizations{0};

  void AddSynchronization() { synchronizations.fetch_add(1, std::memory_order_relaxed); }
};

Transfers& GetTransfers();

}  // namespace tftrt
