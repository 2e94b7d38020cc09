#include "transfers.h"

namespace tftrt {

Transfers& GetTransfers() {
  static Transfers transfers;
  return transfers;
}

}  // namespace tftrt
