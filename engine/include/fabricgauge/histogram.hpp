// A log-linear histogram of times in picoseconds.
//
// Values below 256 ps have buckets of their own; above, each power of two is divided into 128
// buckets, so that a bucket is at most 1/128 = 0.78 % wide. Count, mean and extremes are exact.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace fabricgauge {

class Histogram {
public:
    static constexpr int sub_bucket_bits = 7;
    static constexpr double resolution = 1.0 / (1 << sub_bucket_bits);

    Histogram();

    void add(std::int64_t ps) noexcept;

    std::int64_t count() const noexcept { return count_; }
    std::int64_t minimum_ps() const noexcept { return minimum_; }
    std::int64_t maximum_ps() const noexcept { return maximum_; }
    double mean_ps() const noexcept;

    // Middle of the bucket in which the sample of that rank lies, never outside the extremes;
    // 0 when there are no samples. `share` is 0 to 1.
    double quantile_ps(double share) const noexcept;

    // Lower bound and count of every bucket that holds samples, ascending.
    std::vector<std::pair<std::int64_t, std::int64_t>> buckets() const;

    static std::size_t bucket_of(std::int64_t ps) noexcept;
    static std::int64_t lower_bound_ps(std::size_t bucket) noexcept;
    static std::int64_t width_ps(std::size_t bucket) noexcept;

private:
    std::vector<std::int64_t> counts_;
    std::int64_t count_ = 0;
    std::int64_t minimum_ = 0;
    std::int64_t maximum_ = 0;
    double sum_ = 0.0;
};

}  // namespace fabricgauge
