// How many operations make a sample, and how many samples a block.
#pragma once

#include <cstdint>

namespace fabricgauge {

// The share of a sample that reading the clock may take.
constexpr double largest_clock_share = 0.01;
constexpr std::int64_t longest_batch = 10'000;
constexpr std::int64_t longest_block_samples = 4096;
constexpr double block_s = 1e-3;

// 1 where an operation takes long enough that the clock's overhead does not matter.
std::int64_t batch_for(double operation_s, double clock_overhead_s) noexcept;

// Samples of a block of about 1 ms, less where the budget has no room for 32 of those.
std::int64_t block_samples_for(double sample_s, double budget_s) noexcept;

}  // namespace fabricgauge
