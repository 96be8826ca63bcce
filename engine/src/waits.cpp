#include "fabricgauge/waits.hpp"

#include <fstream>

namespace fabricgauge {

namespace {

// As of a processor's share of a rank's time in the rule host-limited.
constexpr double longest_waiting_share = 0.25;

}  // namespace

Waits waits_of_this_thread() {
    std::int64_t running_ns = 0;
    Waits waits;
    std::ifstream("/proc/thread-self/schedstat") >> running_ns >> waits.waited_ns >> waits.turns;
    return waits;
}

bool waits_made_median(const Waits& waits, std::int64_t samples, double measured_s) noexcept {
    return 2 * waits.turns >= samples &&
           static_cast<double>(waits.waited_ns) * 1e-9 >= longest_waiting_share * measured_s;
}

}  // namespace fabricgauge
