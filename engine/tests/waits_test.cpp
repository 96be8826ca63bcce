#include "fabricgauge/waits.hpp"

#include "check.hpp"

using namespace fabricgauge;

int main() {
    check::test("a wait in every sample makes the median", [] {
        check::expect(waits_made_median({100, 300'000'000}, 100, 0.4));
    });
    check::test("a few long waits among many samples leave the median alone", [] {
        check::expect(!waits_made_median({100, 300'000'000}, 30'000, 0.4));
    });
    check::test("short waits of ranks that sleep for each message do not make it", [] {
        check::expect(!waits_made_median({2000, 4'000'000}, 1000, 0.06));
    });
    check::test("a thread that runs has had a turn", [] {
        const Waits waits = waits_of_this_thread();
        check::expect(waits.turns >= 0 && waits.waited_ns >= 0);
        check::expect_equal((waits - waits).turns, 0);
    });
    check::test("a handler reads what the main thread waited as the thread itself does", [] {
        const std::int64_t before_ns = waits_of_this_thread().waited_ns;
        const std::int64_t waited_ns = waited_by_main_thread_ns();
        if (waited_ns < 0) return;  // a kernel without schedstat
        check::expect(waited_ns >= before_ns);
        check::expect(waited_ns <= waits_of_this_thread().waited_ns);
    });
    return check::outcome();
}
