#include "fabricgauge/clock.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace fabricgauge {

namespace {

// A single pair of readings is quantised by the clock's step, so a run of readings is timed as a
// whole; the median over runs ignores those that an interrupt fell into.
double overhead_ns(const MonotonicClock& clock) {
    constexpr int runs = 101;
    constexpr int readings = 200;
    std::vector<double> per_reading;
    per_reading.reserve(runs);
    for (int run = 0; run < runs; ++run) {
        const std::int64_t begin = clock.now_ns();
        std::int64_t last = begin;
        for (int i = 0; i < readings; ++i) last = clock.now_ns();
        per_reading.push_back(static_cast<double>(last - begin) / readings);
    }
    std::nth_element(per_reading.begin(), per_reading.begin() + runs / 2, per_reading.end());
    return per_reading[runs / 2];
}

std::int64_t resolution_ns(const MonotonicClock& clock) {
    std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
    std::int64_t previous = clock.now_ns();
    // Steps are differences of differences: a clock that is slow to read but fine-grained would
    // otherwise show its overhead as its resolution.
    std::int64_t previous_step = 0;
    for (int i = 0; i < 20'000; ++i) {
        const std::int64_t now = clock.now_ns();
        const std::int64_t step = now - previous;
        const std::int64_t change = step > previous_step ? step - previous_step : previous_step - step;
        if (step > 0) smallest = std::min(smallest, step);
        if (i > 0 && change > 0) smallest = std::min(smallest, change);
        previous = now;
        previous_step = step;
    }
    return smallest;
}

}  // namespace

ClockQuality measure_clock(const MonotonicClock& clock) {
    return {static_cast<double>(resolution_ns(clock)) * 1e-9, overhead_ns(clock) * 1e-9};
}

}  // namespace fabricgauge
