#include "fabricgauge/crowd.hpp"

namespace fabricgauge {

std::int64_t crowd_memory_bytes(const Case& measured, int, bool) noexcept {
    return 2 * measured.sample_payload_bytes();
}

}  // namespace fabricgauge
