#include "fabricgauge/clock.hpp"

#include "check.hpp"

using namespace fabricgauge;

int main() {
    check::test("readings never go backwards", [] {
        const MonotonicClock clock;
        std::int64_t previous = clock.now_ns();
        for (int i = 0; i < 1000; ++i) {
            const std::int64_t now = clock.now_ns();
            check::expect(now >= previous);
            previous = now;
        }
    });
    check::test("overhead and resolution are positive and far below a millisecond", [] {
        const ClockQuality quality = measure_clock({});
        check::expect(quality.overhead_s > 0.0 && quality.overhead_s < 1e-3);
        check::expect(quality.resolution_s > 0.0 && quality.resolution_s < 1e-3);
    });
    return check::outcome();
}
