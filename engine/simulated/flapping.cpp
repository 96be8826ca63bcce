#include "flapping.hpp"

#include <cmath>

namespace fabricgauge::simulated {

double flapping_share(const FlappingFault& fault, double start_s, double full_s) noexcept {
    if (full_s <= 0) return 1;
    const double low_until_s = fault.period_s * fault.share;
    // What one period carries, in seconds at the full rate.
    const double carried_s = low_until_s * fault.factor + (fault.period_s - low_until_s);
    const double periods = std::floor(full_s / carried_s);
    double left_s = full_s - periods * carried_s;
    double taken_s = periods * fault.period_s;
    double phase_s = std::fmod(start_s, fault.period_s);
    while (left_s > 0) {
        const bool low = phase_s < low_until_s;
        const double rate = low ? fault.factor : 1;
        const double room_s = (low ? low_until_s : fault.period_s) - phase_s;
        if (left_s <= room_s * rate) {
            taken_s += left_s / rate;
            break;
        }
        left_s -= room_s * rate;
        taken_s += room_s;
        phase_s = low ? low_until_s : 0;
    }
    return full_s / taken_s;
}

}  // namespace fabricgauge::simulated
