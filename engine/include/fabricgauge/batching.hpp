// The number of operations in a sample, and of samples in a block.
#pragma once

#include <cstdint>
#include <vector>

namespace fabricgauge {

// The share of a sample that reading the clock may take.
constexpr double largest_clock_share = 0.01;
constexpr std::int64_t longest_batch = 10'000;
constexpr std::int64_t longest_block_samples = 4096;
constexpr double block_s = 1e-3;
// A median of fewer samples is that of the moment when a rank waited for a processor. Longer
// messages take so long that a block of as many is dear.
constexpr std::int64_t fewest_block_samples = 64;
constexpr std::int64_t longest_of_fewest_bytes = 8192;

// 1 where an operation takes long enough that the clock's overhead does not matter.
std::int64_t batch_for(double operation_s, double clock_overhead_s) noexcept;

// Samples of a block of about 1 ms, fewer if the budget has no room for 32 such blocks; at least 64
// for short messages, fewer if the budget has no room for 16 such blocks.
std::int64_t block_samples_for(double sample_s, double budget_s,
                               std::int64_t message_bytes) noexcept;

// At least one.
std::int64_t samples_within(double time_s, double sample_s) noexcept;

// The undisturbed time of a sample: the tenth percentile.
double undisturbed_s(std::vector<std::int64_t> samples_ps);

}  // namespace fabricgauge
