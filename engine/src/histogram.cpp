#include "fabricgauge/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace fabricgauge {

namespace {

constexpr std::size_t sub_buckets = std::size_t{1} << Histogram::sub_bucket_bits;

int floor_log2(std::uint64_t value) noexcept { return 63 - __builtin_clzll(value); }

}  // namespace

Histogram::Histogram() : counts_(sub_buckets * (64 - Histogram::sub_bucket_bits), 0) {}

std::size_t Histogram::bucket_of(std::int64_t ps) noexcept {
    const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(ps, 0));
    if (value < sub_buckets) return value;
    const int shift = floor_log2(value) - sub_bucket_bits;
    return sub_buckets * static_cast<std::size_t>(shift) + (value >> shift);
}

std::int64_t Histogram::lower_bound_ps(std::size_t bucket) noexcept {
    if (bucket < 2 * sub_buckets) return static_cast<std::int64_t>(bucket);
    const std::size_t shift = bucket / sub_buckets - 1;
    return static_cast<std::int64_t>((bucket - shift * sub_buckets) << shift);
}

std::int64_t Histogram::width_ps(std::size_t bucket) noexcept {
    return bucket < 2 * sub_buckets ? 1 : std::int64_t{1} << (bucket / sub_buckets - 1);
}

void Histogram::add(std::int64_t ps) noexcept {
    minimum_ = count_ == 0 ? ps : std::min(minimum_, ps);
    maximum_ = count_ == 0 ? ps : std::max(maximum_, ps);
    ++counts_[bucket_of(ps)];
    ++count_;
    sum_ += static_cast<double>(ps);
}

double Histogram::mean_ps() const noexcept {
    if (count_ == 0) return 0.0;
    // The sum is rounded; a mean outside the extremes would be nonsense to a reader.
    return std::clamp(sum_ / static_cast<double>(count_), static_cast<double>(minimum_),
                      static_cast<double>(maximum_));
}

double Histogram::quantile_ps(double share) const noexcept {
    if (count_ == 0) return 0.0;
    const auto rank = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(std::ceil(share * static_cast<double>(count_))));
    std::int64_t seen = 0;
    std::size_t bucket = bucket_of(minimum_);
    for (; bucket < counts_.size(); ++bucket) {
        seen += counts_[bucket];
        if (seen >= rank) break;
    }
    const double middle = static_cast<double>(lower_bound_ps(bucket)) +
                          static_cast<double>(width_ps(bucket) - 1) / 2.0;
    return std::clamp(middle, static_cast<double>(minimum_), static_cast<double>(maximum_));
}

std::vector<std::pair<std::int64_t, std::int64_t>> Histogram::buckets() const {
    std::vector<std::pair<std::int64_t, std::int64_t>> filled;
    for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket)
        if (counts_[bucket] > 0) filled.emplace_back(lower_bound_ps(bucket), counts_[bucket]);
    return filled;
}

}  // namespace fabricgauge
