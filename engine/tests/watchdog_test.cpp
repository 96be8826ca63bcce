#include "fabricgauge/watchdog.hpp"

#include <atomic>

#include "check.hpp"

using namespace fabricgauge;

namespace {

bool becomes_true(const std::atomic<bool>& flag) {
    for (int i = 0; i < 500 && !flag; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return flag;
}

}  // namespace

int main() {
    check::test("it fires once the time is over", [] {
        std::atomic<bool> fired = false;
        Watchdog watchdog;
        watchdog.arm(0.01, [&] { fired = true; });
        check::expect(becomes_true(fired));
    });
    check::test("it does not fire when disarmed", [] {
        std::atomic<bool> fired = false;
        Watchdog watchdog;
        watchdog.arm(0.3, [&] { fired = true; });
        watchdog.disarm();
        std::this_thread::sleep_for(std::chrono::milliseconds(400));
        check::expect(!fired);
    });
    check::test("it can be armed again with a nearer deadline", [] {
        std::atomic<bool> first = false;
        std::atomic<bool> second = false;
        Watchdog watchdog;
        watchdog.arm(1000.0, [&] { first = true; });
        watchdog.arm(0.01, [&] { second = true; });
        check::expect(becomes_true(second));
        check::expect(!first);
    });
    return check::outcome();
}
