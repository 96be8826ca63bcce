// The share of a non-blocking operation's time that computing hides.
//
// overlap = 1 - (total - computing) / alone, between 0 and 1: `alone` is the operation's time
// without computing, `computing` what the computing takes without the operation, `total` both at
// once. That is OSU's formula; OSU times the computing while the operation goes on, so that what a
// message layer takes from the processor meanwhile counts as computing there, but not here.
#pragma once

#include <cstdint>
#include <optional>

#include "fabricgauge/blocks.hpp"

namespace fabricgauge {

class Overlap {
public:
    explicit Overlap(double alone_s) noexcept : alone_s_(alone_s) {}

    // A block's median with both at once, if it has one, and the computing by itself.
    void add(std::optional<double> total_ps, std::int64_t computing_ns) noexcept;

    // Median over blocks.
    double computing_s() const;
    // None if no block had a measured time.
    std::optional<double> share() const;

private:
    double alone_s_;
    BlockSeries totals_ps_;
    BlockSeries computing_ps_;
};

}  // namespace fabricgauge
