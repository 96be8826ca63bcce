// A host of SimGrid's SMPI. All ranks are one process of the real machine, so the clock, name and
// counters of that machine are not theirs. A build with FABRICGAUGE_SIMULATED takes this one.
#pragma once

#include <mpi.h>
#include <simgrid/s4u/Actor.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "fabricgauge/clock.hpp"
#include "fabricgauge/placement.hpp"
#include "fabricgauge/records.hpp"
#include "fabricgauge/waits.hpp"
#include "fabricgauge/watchdog.hpp"

namespace fabricgauge {

struct SimulatedClock {
    static constexpr const char* name = "simulated time";
    static constexpr bool shared_by_all = true;

    std::int64_t now_ns() const noexcept {
        return static_cast<std::int64_t>(std::llround(MPI_Wtime() * 1e9));
    }
    // Looking at it takes no time, so a loop that waits for a moment would not end.
    void sleep_until_ns(std::int64_t due_ns) const {
        simgrid::s4u::this_actor::sleep_for(static_cast<double>(due_ns - now_ns()) * 1e-9);
    }
};

// Nothing passes through interfaces that could be counted.
struct NoEvidence {
    NoEvidence(int, const std::string&, bool) {}
    void before() {}
    template <typename Needed>
    void after(RankReport&, Needed&&) {}
};

// Simulated time does not pass while a program hangs, so no deadline in it can be missed.
struct NoWatchdog {
    void prepare(const LastWords&) {}
    void arm(double) {}
    void disarm() {}
};

struct SimulatedHost {
    using Clock = SimulatedClock;
    using Evidence = NoEvidence;
    using Watchdog = NoWatchdog;

    static constexpr bool simulated = true;
    static constexpr ReadWaits read_waits = nullptr;

    // Reading it takes no simulated time; its resolution is that of the 64-bit nanoseconds.
    static ClockQuality clock_quality() { return {1e-9, 0.0}; }
    static Placement placement() {
        char name[MPI_MAX_PROCESSOR_NAME] = "";
        int length = 0;
        MPI_Get_processor_name(name, &length);
        Placement found;
        found.host = std::string(name, static_cast<std::size_t>(length));
        return found;
    }
    static std::string addresses() { return ""; }
    // The simulator's own libraries are not reported.
    static std::vector<std::string> libraries() { return {}; }
    // Not used: a simulated rank that waits costs nothing.
    static void nap() {}
};

}  // namespace fabricgauge
