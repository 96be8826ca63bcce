#include "fabricgauge/batching.hpp"

#include <algorithm>
#include <cmath>

namespace fabricgauge {

std::int64_t batch_for(double operation_s, double clock_overhead_s) noexcept {
    // An operation shorter than the clock's resolution still takes some time: a nanosecond.
    const double shortest = clock_overhead_s / largest_clock_share;
    if (operation_s >= shortest) return 1;
    const double operations = std::ceil(shortest / std::max(operation_s, 1e-9));
    return std::min(static_cast<std::int64_t>(operations), longest_batch);
}

std::int64_t block_samples_for(double sample_s, double budget_s,
                               std::int64_t message_bytes) noexcept {
    const double shortest_s = std::max(sample_s, 1e-9);
    const double samples = std::ceil(std::min(block_s, budget_s / 32.0) / shortest_s);
    const auto fewest = message_bytes > longest_of_fewest_bytes
                            ? 1.0
                            : std::min<double>(fewest_block_samples, budget_s / 16.0 / shortest_s);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::max(samples, fewest)), 1,
                                    longest_block_samples);
}

std::int64_t samples_within(double time_s, double sample_s) noexcept {
    const double samples = time_s / std::max(sample_s, 1e-9);
    return static_cast<std::int64_t>(std::clamp(samples, 1.0, double(longest_block_samples)));
}

double undisturbed_s(std::vector<std::int64_t> samples_ps) {
    const auto tenth = samples_ps.begin() + static_cast<std::ptrdiff_t>(samples_ps.size() / 10);
    std::nth_element(samples_ps.begin(), tenth, samples_ps.end());
    return static_cast<double>(*tenth) * 1e-12;
}

}  // namespace fabricgauge
