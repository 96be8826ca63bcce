#include "fabricgauge/warmup.hpp"

#include <algorithm>
#include <cmath>

namespace fabricgauge {

namespace {

struct Fences {
    double low;
    double high;
};

double quantile(const std::vector<double>& sorted, double share) {
    const double position = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    const double weight = position - static_cast<double>(below);
    return sorted[below] + weight * (sorted[above] - sorted[below]);
}

Fences fences_of(std::vector<double> settled) {
    std::sort(settled.begin(), settled.end());
    const double lower_quartile = quantile(settled, 0.25);
    const double upper_quartile = quantile(settled, 0.75);
    const double margin =
        std::max(1.5 * (upper_quartile - lower_quartile), 0.01 * quantile(settled, 0.5));
    return {lower_quartile - margin, upper_quartile + margin};
}

}  // namespace

std::size_t leading_warmup(const std::vector<double>& medians_ps) {
    const std::size_t half = medians_ps.size() / 2;
    if (medians_ps.size() < fewest_blocks_for_warmup) return 0;
    const auto later = medians_ps.begin() + static_cast<std::ptrdiff_t>(half);
    const Fences fences = fences_of({later, medians_ps.end()});
    std::size_t leading = 0;
    while (leading < half &&
           (medians_ps[leading] < fences.low || medians_ps[leading] > fences.high))
        ++leading;
    return leading;
}

bool has_settled(std::size_t leading, std::size_t blocks) noexcept {
    return blocks < fewest_blocks_for_warmup || leading < blocks / 2;
}

}  // namespace fabricgauge
