// The clock that samples are taken with: CLOCK_MONOTONIC, read through the vDSO. A simulated build
// (FABRICGAUGE_SIMULATED) takes that of src/simulated_host.hpp instead.
#pragma once

#include <ctime>

#include <cstdint>

namespace fabricgauge {

struct MonotonicClock {
    static constexpr const char* name = "CLOCK_MONOTONIC";

    std::int64_t now_ns() const noexcept {
        timespec at;
        clock_gettime(CLOCK_MONOTONIC, &at);
        return static_cast<std::int64_t>(at.tv_sec) * 1'000'000'000 + at.tv_nsec;
    }
};

// overhead_s is the time between two readings that follow each other directly, the median of
// many; resolution_s the smallest step seen between two readings that differ.
struct ClockQuality {
    double resolution_s;
    double overhead_s;
};

ClockQuality measure_clock(const MonotonicClock& clock);

}  // namespace fabricgauge
