#include "fabricgauge/waits.hpp"

#include <sched.h>

#include <cstddef>

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
    check::test("a thread that leaves its processor runs on another and keeps all of its own", [] {
        cpu_set_t before;
        if (sched_getaffinity(0, sizeof before, &before) != 0) return;
        // Others may move the thread back at once, but not each time.
        int moves = 0;
        for (int i = 0; i < 20; ++i) {
            const int here = sched_getcpu();
            leave_processor();
            moves += sched_getcpu() != here;
        }
        check::expect(CPU_COUNT(&before) < 2 || moves > 0);
        cpu_set_t after;
        check::expect_equal(sched_getaffinity(0, sizeof after, &after), 0);
        check::expect(CPU_EQUAL(&before, &after));
    });
    check::test("a thread with one processor stays on it", [] {
        cpu_set_t before;
        if (sched_getaffinity(0, sizeof before, &before) != 0) return;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
        if (sched_setaffinity(0, sizeof one, &one) != 0) return;
        leave_processor();
        cpu_set_t after;
        check::expect_equal(sched_getaffinity(0, sizeof after, &after), 0);
        check::expect(CPU_EQUAL(&one, &after));
        sched_setaffinity(0, sizeof before, &before);
    });
    return check::outcome();
}
