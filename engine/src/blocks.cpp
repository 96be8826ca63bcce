#include "fabricgauge/blocks.hpp"

#include <algorithm>

namespace fabricgauge {

namespace {

template <typename Value>
double median(Value* values, std::size_t count) noexcept {
    Value* const middle = values + count / 2;
    std::nth_element(values, middle, values + count);
    const auto upper = static_cast<double>(*middle);
    if (count % 2 == 1) return upper;
    const auto lower = static_cast<double>(*std::max_element(values, middle));
    return lower + (upper - lower) / 2.0;
}

}  // namespace

double median_of(std::int64_t* values, std::size_t count) noexcept { return median(values, count); }
double median_of(double* values, std::size_t count) noexcept { return median(values, count); }

BlockSeries::BlockSeries() { medians_.reserve(capacity); }

void BlockSeries::add(double median_ps) noexcept {
    ++blocks_;
    const bool last_is_open = !medians_.empty() && in_last_ < span_;
    if (last_is_open) {
        ++in_last_;
        medians_.back() += (median_ps - medians_.back()) / static_cast<double>(in_last_);
        return;
    }
    if (medians_.size() == capacity) merge_neighbours();
    medians_.push_back(median_ps);
    in_last_ = 1;
}

void BlockSeries::merge_neighbours() noexcept {
    for (std::size_t i = 0; i < capacity / 2; ++i)
        medians_[i] = medians_[2 * i] + (medians_[2 * i + 1] - medians_[2 * i]) / 2.0;
    medians_.resize(capacity / 2);
    span_ *= 2;
}

}  // namespace fabricgauge
