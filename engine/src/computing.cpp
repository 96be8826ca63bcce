#include "fabricgauge/computing.hpp"

namespace fabricgauge {

// Xorshift: each step needs the one before, and no compiler knows where it leads.
// Source: G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003).
std::uint64_t arithmetic(std::int64_t steps) noexcept {
    std::uint64_t value = 88'172'645'463'325'252U;
    for (std::int64_t i = 0; i < steps; ++i) {
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
    }
    return value;
}

}  // namespace fabricgauge
