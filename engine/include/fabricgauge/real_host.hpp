// The machine that a rank runs on: its clock, its place, what its kernel counts.
//
// A launch takes it as a template argument, because a simulated cluster has other ones: see
// src/simulated_host.hpp.
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "fabricgauge/addresses.hpp"
#include "fabricgauge/clock.hpp"
#include "fabricgauge/evidence.hpp"
#include "fabricgauge/libraries.hpp"
#include "fabricgauge/placement.hpp"
#include "fabricgauge/waits.hpp"
#include "fabricgauge/watchdog.hpp"

namespace fabricgauge {

struct RealHost {
    using Clock = MonotonicClock;
    using Evidence = fabricgauge::Evidence;
    using Watchdog = fabricgauge::Watchdog;

    static constexpr bool simulated = false;
    static constexpr ReadWaits read_waits = waits_of_this_thread;

    static ClockQuality clock_quality() { return measure_clock({}); }
    static Placement placement() { return find_placement(); }
    static std::string addresses() { return own_addresses(); }
    static std::vector<std::string> libraries() { return loaded_libraries(); }
    // The interval at which an idle rank checks that the other ranks have finished: it must not
    // take processor time from a measurement on the same node.
    static void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
};

}  // namespace fabricgauge
