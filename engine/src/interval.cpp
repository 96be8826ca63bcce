#include "fabricgauge/interval.hpp"

#include <algorithm>
#include <cmath>

namespace fabricgauge {

std::size_t order_statistic(std::size_t count, double confidence) noexcept {
    const double allowed_tail = (1.0 - confidence) / 2.0;
    double probability = std::ldexp(1.0, -static_cast<int>(count));
    double tail = 0.0;
    std::size_t k = 0;
    while (k < (count + 1) / 2) {
        tail += probability;
        if (tail > allowed_tail) break;
        ++k;
        probability *= static_cast<double>(count - k + 1) / static_cast<double>(k);
    }
    return k;
}

MedianInterval interval_of_median(std::vector<double>& values, double confidence) noexcept {
    std::sort(values.begin(), values.end());
    const std::size_t count = values.size();
    const double lower_middle = values[(count - 1) / 2];
    const double median = lower_middle + (values[count / 2] - lower_middle) / 2.0;
    const std::size_t k = order_statistic(count, confidence);
    if (k == 0)
        return {median, values.front(), values.back(),
                1.0 - 2.0 * std::ldexp(1.0, -static_cast<int>(count))};
    return {median, values[k - 1], values[count - k], confidence};
}

}  // namespace fabricgauge
