#include "fabricgauge/processors.hpp"

#include <sstream>

#include "check.hpp"

using namespace fabricgauge;

namespace {

ProcessorState state(const std::string& stat) {
    std::istringstream text(stat);
    ProcessorState made;
    made.processors = parse_proc_stat(text);
    return made;
}

}  // namespace

int main() {
    check::test("shares are those of the ticks that passed", [] {
        const ProcessorState before = state("cpu 9 9 9 9 9 9 9 9 0 0\ncpu0 10 0 0 100 0 0 0 0 0 0\n"
                                            "cpu1 10 0 0 100 0 0 0 0 0 0\nintr 5\n");
        const ProcessorState after = state("cpu 9 9 9 9 9 9 9 9 0 0\ncpu0 10 0 0 150 10 0 40 0 0 0\n"
                                           "cpu1 60 0 0 130 0 0 10 10 0 0\nintr 5\n");
        const ProcessorUse use = use_between(before, after);
        check::expect_near(use.node_idle_share, 90.0 / 200.0, 1e-12);
        check::expect_near(use.node_softirq_share, 50.0 / 200.0, 1e-12);
        check::expect_near(use.node_steal_share, 10.0 / 200.0, 1e-12);
        check::expect_near(use.busiest_softirq_share, 0.4, 1e-12);
    });
    check::test("no tick passed gives no shares", [] {
        const ProcessorState same = state("cpu0 1 2 3 4 5 6 7 8\n");
        check::expect_near(use_between(same, same).node_idle_share, 0.0, 0.0);
    });
    check::test("a counter that went backwards counts as unchanged", [] {
        const ProcessorUse use =
            use_between(state("cpu0 0 0 0 10 9 0 0 0\n"), state("cpu0 9 0 0 10 8 0 0 0\n"));
        check::expect(use.node_idle_share >= 0.0 && use.node_idle_share <= 1.0);
    });
    check::test("this process's own use grows", [] {
        const ProcessorState before = read_processors();
        volatile double sink = 0.0;
        for (int i = 0; i < 20'000'000; ++i) sink = sink + 1.0;
        check::expect(use_between(before, read_processors()).user_s > 0.0);
        check::expect(!before.processors.empty());
    });
    return check::outcome();
}
