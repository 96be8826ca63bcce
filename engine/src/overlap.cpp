#include "fabricgauge/overlap.hpp"

#include <algorithm>
#include <vector>

namespace fabricgauge {

namespace {

double median_s(const BlockSeries& series) {
    std::vector<double> medians = series.medians_ps();
    return medians.empty() ? 0.0 : median_of(medians.data(), medians.size()) * 1e-12;
}

}  // namespace

void Overlap::add(std::optional<double> total_ps, std::int64_t computing_ns) noexcept {
    if (total_ps) totals_ps_.add(*total_ps);
    computing_ps_.add(static_cast<double>(computing_ns) * 1000.0);
}

double Overlap::computing_s() const { return median_s(computing_ps_); }

std::optional<double> Overlap::share() const {
    if (totals_ps_.blocks() == 0 || alone_s_ <= 0.0) return std::nullopt;
    return std::clamp(1.0 - (median_s(totals_ps_) - computing_s()) / alone_s_, 0.0, 1.0);
}

}  // namespace fabricgauge
