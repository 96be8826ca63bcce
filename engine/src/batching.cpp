#include "fabricgauge/batching.hpp"

#include <algorithm>
#include <cmath>

namespace fabricgauge {

std::int64_t batch_for(double operation_s, double clock_overhead_s) noexcept {
    // An operation shorter than the clock can tell still takes some time: a nanosecond.
    const double shortest = clock_overhead_s / largest_clock_share;
    if (operation_s >= shortest) return 1;
    const double operations = std::ceil(shortest / std::max(operation_s, 1e-9));
    return std::min(static_cast<std::int64_t>(operations), longest_batch);
}

std::int64_t block_samples_for(double sample_s, double budget_s) noexcept {
    const double length_s = std::min(block_s, budget_s / 32.0);
    const double samples = std::ceil(length_s / std::max(sample_s, 1e-9));
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(samples), 1, longest_block_samples);
}

}  // namespace fabricgauge
