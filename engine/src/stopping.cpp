#include "fabricgauge/stopping.hpp"

#include <algorithm>

#include "fabricgauge/interval.hpp"

namespace fabricgauge {

const char* name_of(Stop stop) noexcept {
    switch (stop) {
        case Stop::interval: return "interval";
        case Stop::budget: return "budget";
        case Stop::iterations: return "iterations";
        case Stop::none: break;
    }
    return "";
}

bool IntervalRule::due(double measured_s) noexcept {
    ++blocks_;
    if (blocks_ < next_look_ || measured_s < shortest_s) return false;
    next_look_ = blocks_ + std::max<std::int64_t>(1, blocks_ / 5);
    return true;
}

bool IntervalRule::narrow(std::vector<double> medians_ps) const noexcept {
    if (medians_ps.empty()) return false;
    const MedianInterval found = interval_of_median(medians_ps, confidence_);
    const double allowed = relative_half_width_ * found.median;
    return found.coverage >= confidence_ && found.median - found.low <= allowed &&
           found.high - found.median <= allowed;
}

std::int64_t IterationsRule::clip(std::int64_t block, std::int64_t taken) const noexcept {
    return limits() ? std::min(block, samples_ - taken) : block;
}

}  // namespace fabricgauge
