#include "fabricgauge/evidence.hpp"

#include "check.hpp"
#include "fabricgauge/clock.hpp"

using namespace fabricgauge;

int main() {
    check::test("a rank that reads counters reports its node", [] {
        Evidence evidence(3, "c1", true);
        evidence.before();
        RankReport report;
        evidence.after(report, [](Sockets all) { return all; });
        check::expect(report.counters.find("\"rank\":3,\"host\":\"c1\",\"before\":{") !=
                      std::string::npos);
        check::expect(report.processors.find("\"rank\":3") != std::string::npos);
        check::expect_equal(report.sockets.front(), '[');
    });
    check::test("a rank that does not leaves them empty", [] {
        Evidence evidence(3, "c1", false);
        evidence.before();
        RankReport report;
        evidence.after(report, [](Sockets all) { return all; });
        check::expect_equal(report.counters, "");
    });
    check::test("enough ticks pass for shares to mean something", [] {
        const std::int64_t began_ns = MonotonicClock{}.now_ns();
        Evidence evidence(0, "c1", false);
        evidence.before();
        RankReport report;
        evidence.after(report, [](Sockets all) { return all; });
        const double passed_s = static_cast<double>(MonotonicClock{}.now_ns() - began_ns) * 1e-9;
        check::expect(passed_s >= shortest_for_shares_s);
    });
    return check::outcome();
}
