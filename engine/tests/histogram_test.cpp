#include "fabricgauge/histogram.hpp"

#include <limits>

#include "check.hpp"

using namespace fabricgauge;

namespace {

void expect_bucket_holds(std::int64_t ps) {
    const std::size_t bucket = Histogram::bucket_of(ps);
    const std::int64_t lower = Histogram::lower_bound_ps(bucket);
    check::expect(lower <= ps);
    check::expect(ps - lower < Histogram::width_ps(bucket));
    check::expect_equal(Histogram::bucket_of(lower), bucket);
}

}  // namespace

int main() {
    check::test("every value lies in its bucket, up to the largest", [] {
        for (std::int64_t ps = 0; ps < 5000; ++ps) expect_bucket_holds(ps);
        for (int bit = 12; bit < 63; ++bit)
            for (const std::int64_t off : {-1, 0, 1, 12345})
                expect_bucket_holds((std::int64_t{1} << bit) + off);
        expect_bucket_holds(std::numeric_limits<std::int64_t>::max());
    });
    check::test("values below 256 ps have buckets of their own", [] {
        for (std::int64_t ps = 0; ps < 256; ++ps)
            check::expect_equal(Histogram::width_ps(Histogram::bucket_of(ps)), std::int64_t{1});
        check::expect_equal(Histogram::width_ps(Histogram::bucket_of(256)), std::int64_t{2});
    });
    check::test("a bucket is at most 1/128 of its lower bound wide", [] {
        for (std::size_t bucket = 128; bucket < 7000; ++bucket)
            check::expect(Histogram::width_ps(bucket) * 128 <= Histogram::lower_bound_ps(bucket));
    });
    check::test("counts, mean and extremes are exact", [] {
        Histogram histogram;
        for (const std::int64_t ps : {1'000'003, 2'000'001, 3'000'002}) histogram.add(ps);
        check::expect_equal(histogram.count(), 3);
        check::expect_equal(histogram.minimum_ps(), 1'000'003);
        check::expect_equal(histogram.maximum_ps(), 3'000'002);
        check::expect_near(histogram.mean_ps(), 2'000'002.0, 1e-6);
        std::int64_t total = 0;
        for (const auto& [lower, count] : histogram.buckets()) total += count;
        check::expect_equal(total, 3);
    });
    check::test("quantiles are right within a bucket", [] {
        Histogram histogram;
        for (std::int64_t i = 1; i <= 10'000; ++i) histogram.add(i * 1000);
        check::expect_near(histogram.quantile_ps(0.5), 5e6, 5e6 / 128);
        check::expect_near(histogram.quantile_ps(0.99), 9.9e6, 9.9e6 / 128);
        check::expect_equal(histogram.quantile_ps(1.0) <= 1e7, true);
    });
    check::test("a quantile stays within the extremes of a single value", [] {
        Histogram histogram;
        histogram.add(1'000'003);
        check::expect_near(histogram.quantile_ps(0.5), 1'000'003.0, 0.0);
    });
    return check::outcome();
}
