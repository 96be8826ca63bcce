#include "fabricgauge/interval.hpp"

#include <random>

#include "check.hpp"

using namespace fabricgauge;

int main() {
    check::test("six values are the fewest with 95 %", [] {
        check::expect_equal(order_statistic(5, 0.95), std::size_t{0});
        check::expect_equal(order_statistic(6, 0.95), std::size_t{1});
    });
    // Conover's and Wilcox's tables of the sign test's critical values.
    check::test("order statistics agree with published ones", [] {
        check::expect_equal(order_statistic(10, 0.95), std::size_t{2});
        check::expect_equal(order_statistic(20, 0.95), std::size_t{6});
        check::expect_equal(order_statistic(50, 0.95), std::size_t{18});
        check::expect_equal(order_statistic(100, 0.95), std::size_t{40});
    });
    check::test("too few values give the extremes and the coverage that those have", [] {
        std::vector<double> values = {3.0, 1.0, 2.0};
        const MedianInterval found = interval_of_median(values, 0.95);
        check::expect_near(found.median, 2.0, 0.0);
        check::expect_near(found.low, 1.0, 0.0);
        check::expect_near(found.high, 3.0, 0.0);
        check::expect_near(found.coverage, 0.75, 1e-12);
        std::vector<double> single = {7.0};
        check::expect_near(interval_of_median(single, 0.95).coverage, 0.0, 0.0);
    });
    check::test("the interval covers the true median about as often as it says", [] {
        std::mt19937 random(4);
        std::exponential_distribution<double> skewed(1.0);
        int covered = 0;
        for (int trial = 0; trial < 4000; ++trial) {
            std::vector<double> values(40);
            for (double& value : values) value = skewed(random);
            const MedianInterval found = interval_of_median(values, 0.95);
            if (found.low <= 0.6931471805599453 && 0.6931471805599453 <= found.high) ++covered;
        }
        check::expect(covered > 4000 * 0.94 && covered < 4000 * 0.985);
    });
    check::test("512 values still have an interval", [] {
        std::vector<double> values;
        for (int i = 0; i < 512; ++i) values.push_back(i);
        const MedianInterval found = interval_of_median(values, 0.95);
        check::expect(found.low > 220.0 && found.high < 290.0);
    });
    return check::outcome();
}
