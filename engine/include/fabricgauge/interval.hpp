// A distribution-free interval of a median, from order statistics.
//
// Between the k-th smallest and the k-th largest of n independent observations the median lies
// with probability 1 - 2 P(B < k), B binomial (n, 1/2). Source: W. J. Conover, Practical
// Nonparametric Statistics, 3rd ed., section 3.2.
#pragma once

#include <cstddef>
#include <vector>

namespace fabricgauge {

// `coverage` is the confidence asked for, or, where there are too few values for it, the lower one
// that the extremes have (0 for a single value).
struct MedianInterval {
    double median;
    double low;
    double high;
    double coverage;
};

// `values` (at least one, at most BlockSeries::capacity) is sorted by the call.
MedianInterval interval_of_median(std::vector<double>& values, double confidence) noexcept;

// The largest k (1-based) for which the interval has at least `confidence`; 0 if there is none.
std::size_t order_statistic(std::size_t count, double confidence) noexcept;

}  // namespace fabricgauge
