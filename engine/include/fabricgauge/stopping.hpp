// When a case has enough samples: three rules, asked between blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fabricgauge/waits.hpp"

namespace fabricgauge {

// The precision and limits of a measurement, the same for every case of a launch.
struct Precision {
    double relative_half_width;
    double confidence;
    std::int64_t iterations;
    double clock_overhead_s;
    bool check_data;
    bool check_first = false;        // compares the data of the first sample alone
    ReadWaits read_waits = nullptr;  // null where waits for a processor are not known
    double extension_s = 0.0;        // see longest_with_waits_s
};

enum class Stop { none, interval, budget, iterations };

const char* name_of(Stop stop) noexcept;

// The interval of the median is narrow enough. To look after every block would be to wait for a
// lucky moment, so it looks again only once there are a fifth more blocks, and not before 6 blocks
// and 20 ms of samples are there.
class IntervalRule {
public:
    IntervalRule(double relative_half_width, double confidence)
        : relative_half_width_(relative_half_width), confidence_(confidence) {}
    // Return true if it is time to check; called once after each block, warm-up or not.
    bool due(double measured_s) noexcept;
    bool narrow(std::vector<double> medians_ps) const noexcept;

private:
    static constexpr std::int64_t fewest_blocks = 6;
    static constexpr double shortest_s = 0.02;

    double relative_half_width_;
    double confidence_;
    std::int64_t blocks_ = 0;
    std::int64_t next_look_ = fewest_blocks;
};

// The next block would end past the budget.
class BudgetRule {
public:
    explicit BudgetRule(double budget_s) : budget_s_(budget_s) {}
    bool reached(double elapsed_s, double next_block_s) const noexcept {
        return elapsed_s + next_block_s > budget_s_;
    }

private:
    double budget_s_;
};

// A case of short messages whose samples are waits for a processor does not end with
// its budget: it goes on until other samples come, and measures for the budget's time again. All
// that ends within five budgets, and within `extension_s` beyond the first.
constexpr double longest_extension_s = 3.0;
inline double longest_with_waits_s(double budget_s, double extension_s) noexcept {
    return budget_s + std::min(4.0 * budget_s, extension_s);
}

// A given number of samples was taken; 0 means that any number is right.
class IterationsRule {
public:
    explicit IterationsRule(std::int64_t samples) : samples_(samples) {}
    bool limits() const noexcept { return samples_ > 0; }
    bool reached(std::int64_t taken) const noexcept { return limits() && taken >= samples_; }
    // Length of a block of at most `block` samples that does not go past the limit.
    std::int64_t clip(std::int64_t block, std::int64_t taken) const noexcept;

private:
    std::int64_t samples_;
};

}  // namespace fabricgauge
