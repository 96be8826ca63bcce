#include "fabricgauge/times.hpp"

#include "check.hpp"

using namespace fabricgauge;

int main() {
    check::test("the statistics are in order and in seconds", [] {
        Recorder recorder(100);
        for (int block = 0; block < 20; ++block) {
            std::int64_t samples[100];
            for (int i = 0; i < 100; ++i) samples[i] = 1'000'000 + 1000 * i + block;
            recorder.add_block(samples, 100);
        }
        recorder.settle();
        const Times times = times_of(recorder, 0.95);
        check::expect_near(times.minimum_s, 1e-6, 1e-15);
        check::expect_near(times.maximum_s, 1.099019e-6, 1e-15);
        check::expect_near(times.median_s, 1.0495e-6, 1e-10);
        check::expect(times.low_s <= times.median_s && times.median_s <= times.high_s);
        check::expect(times.median_s <= times.p90_s && times.p90_s <= times.p99_s);
        check::expect(times.p99_s <= times.p999_s && times.p999_s <= times.maximum_s);
        check::expect_near(times.confidence, 0.95, 0.0);
    });
    check::test("a single sample is every statistic, with no confidence", [] {
        Recorder recorder(1);
        const std::int64_t sample = 2'300'000'000'000;
        recorder.add_block(&sample, 1);
        recorder.settle();
        const Times times = times_of(recorder, 0.95);
        check::expect_near(times.median_s, 2.3, 1e-12);
        check::expect_near(times.p999_s, 2.3, 1e-12);
        check::expect_near(times.confidence, 0.0, 0.0);
    });
    return check::outcome();
}
