#include "fabricgauge/clock_model.hpp"

#include <cmath>
#include <cstdlib>

#include "check.hpp"

using namespace fabricgauge;

int main() {
    check::test("an offset is exact when the shortest ways are alike, each way for itself", [] {
        OffsetSearch search;
        search.add(1000, 1000 + 500 + 70, 1000 + 70 + 90);   // short there, long back
        search.add(2000, 2000 + 500 + 200, 2000 + 200 + 70);  // long there, short back
        check::expect_equal(search.found().offset_ns, 500);
        check::expect_equal(search.found().half_width_ns, 70);
    });
    check::test("whatever the ways take, the offset lies within half of their sum", [] {
        for (const std::int64_t there : {10, 100, 3000}) {
            OffsetSearch search;
            search.add(0, there - 12'345, there + 400);
            const ClockOffset found = search.found();
            check::expect(std::llabs(found.offset_ns + 12'345) <= found.half_width_ns);
        }
    });
    check::test("a model leads there and back", [] {
        const ClockModel model(1'000'000, -777'777'777'777, 3e-5);
        for (const std::int64_t own : {0L, 1'000'000L, 9'000'000'000L, 20'000'000'000'000'000L})
            check::expect(std::llabs(model.to_own(model.to_other(own)) - own) <= 1 + own / 1'000'000'000'000);
    });
    check::test("models in a row are one model", [] {
        const ClockModel first(500, 1'000'000, 2e-5);
        const ClockModel second(900'000, -3'000'000, -4e-5);
        const ClockModel both = first.then(second);
        for (const std::int64_t own : {0L, 500L, 2'000'000'000L})
            check::expect(std::llabs(both.to_other(own) - second.to_other(first.to_other(own))) <= 2);
    });
    check::test("without offsets the other clock is taken for the own one", [] {
        const OffsetHistory history;
        check::expect_equal(history.model().to_other(42), 42);
        check::expect_equal(history.slope_error(), OffsetHistory::unknown_slope);
    });
    check::test("a slope is not believed before the offsets show it", [] {
        OffsetHistory history;
        history.add({0, 1000, 500});
        history.add({10'000, 1003, 500});  // 3 ns in 10 µs may be noise
        check::expect_equal(history.slope_error(), OffsetHistory::unknown_slope);
        check::expect_equal(history.model().to_other(10'000), 11'003);
    });
    check::test("a drift is followed into the future", [] {
        OffsetHistory history;
        for (std::int64_t i = 0; i < 16; ++i) {
            const std::int64_t at = i * 100'000'000;
            history.add({at, 5000 + at / 50'000, 500});  // 20 ppm
        }
        check::expect(history.slope_error() < 1e-7);
        const std::int64_t later = 2'500'000'000;
        check::expect(std::llabs(history.model().to_other(later) - (later + 5000 + 50'000)) < 20);
    });
    check::test("a disturbed offset hardly counts", [] {
        OffsetHistory history;
        for (std::int64_t i = 0; i < 15; ++i) history.add({i * 100'000'000, 5000, 500});
        history.add({1'500'000'000, 12'000, 9000});
        check::expect(std::llabs(history.model().to_other(1'500'000'000) - 1'500'005'000) < 50);
    });
    check::test("offsets from before the last 20 s are forgotten", [] {
        OffsetHistory history;
        history.add({0, 0, 10});
        history.add({30'000'000'000, 900'000, 10});
        check::expect_equal(history.slope_error(), OffsetHistory::unknown_slope);
    });
    return check::outcome();
}
