#include "fabricgauge/blocks.hpp"

#include "check.hpp"

using namespace fabricgauge;

int main() {
    check::test("the median of an even count is the mean of the middle two", [] {
        std::int64_t values[] = {9, 1, 4, 6};
        check::expect_near(median_of(values, 4), 5.0, 0.0);
        std::int64_t odd[] = {9, 1, 4};
        check::expect_near(median_of(odd, 3), 4.0, 0.0);
    });
    check::test("block medians keep their time order", [] {
        BlockSeries series;
        for (int i = 0; i < 512; ++i) series.add(i);
        check::expect_equal(series.medians_ps().size(), std::size_t{512});
        check::expect_near(series.medians_ps()[17], 17.0, 0.0);
    });
    check::test("one block more than fits merges neighbours", [] {
        BlockSeries series;
        for (int i = 0; i < 513; ++i) series.add(i);
        check::expect_equal(series.blocks(), 513);
        check::expect_equal(series.medians_ps().size(), std::size_t{257});
        check::expect_near(series.medians_ps().front(), 0.5, 1e-12);
        check::expect_near(series.medians_ps().back(), 512.0, 1e-12);
    });
    check::test("a long series spans the whole case and keeps its mean", [] {
        BlockSeries series;
        for (int i = 0; i < 8192; ++i) series.add(i);
        check::expect(series.medians_ps().size() <= BlockSeries::capacity);
        double sum = 0.0;
        for (const double median : series.medians_ps()) sum += median;
        check::expect_near(sum / static_cast<double>(series.medians_ps().size()), 4095.5, 1e-6);
    });
    return check::outcome();
}
