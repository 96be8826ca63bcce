// The distance of the agreed starts of a collective's iterations, the lead of the first, and the
// number of starts in one announcement.
//
// If a window is too short, a rank is still in one iteration when the next should begin; if it is
// too long, the budget is spent waiting. A rank that was held up is late for all announced starts.
// So all three follow the results of the last blocks.
#pragma once

#include <cstdint>

#include "fabricgauge/batching.hpp"

namespace fabricgauge {

// The result of a block of iterations. An iteration is late if some rank began it late, and overrun
// if that rank was still busy with the previous one. lag_ns is from the announcement of the block
// to the moment when the last rank was ready for it.
struct BlockStarts {
    std::int64_t iterations;
    std::int64_t late;
    std::int64_t overrun;
    std::int64_t lag_ns;
};

class StartWindow {
public:
    StartWindow(double operation_s, double tolerance_s) noexcept;

    // Starts later than this are late.
    std::int64_t tolerance_ns() const noexcept { return tolerance_ns_; }
    std::int64_t length_ns() const noexcept;
    std::int64_t lead_ns() const noexcept { return lead_ns_; }
    std::int64_t most_samples() const noexcept { return most_samples_; }

    void learn(const BlockStarts& starts, double operation_s) noexcept;
    // No window would do: the ranks do not run at the same time, for instance because there are
    // more of them than processors.
    bool hopeless() const noexcept;

private:
    void count(const BlockStarts& starts) noexcept;

    static constexpr double shortest_factor = 1.5;
    static constexpr double longest_factor = 4.0;
    static constexpr std::int64_t fewest_judged = 24;

    double factor_ = shortest_factor;
    double operation_ns_;
    std::int64_t tolerance_ns_;
    std::int64_t lead_ns_;
    std::int64_t most_samples_ = longest_block_samples;
    std::int64_t single_ = 0;  // starts that were announced singly, since the last that were not
    std::int64_t late_ = 0;    // of these
};

}  // namespace fabricgauge
