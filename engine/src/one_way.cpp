#include "fabricgauge/one_way.hpp"

#include <algorithm>

namespace fabricgauge {

namespace {

// Among this many exchanges, each way is undisturbed at least once.
constexpr std::int64_t most = 32;
constexpr std::int64_t fewest = 3;
// The share of the pair's budget, which the round trips themselves have used up to then.
constexpr double share_of_budget = 0.25;

}  // namespace

std::int64_t one_way_exchanges(double half_round_trip_s, double budget_s,
                               std::int64_t iterations) noexcept {
    const double affordable = share_of_budget * budget_s / std::max(2.0 * half_round_trip_s, 1e-9);
    const std::int64_t wanted = iterations > 0 ? std::min(iterations, most) : most;
    return std::min(wanted, std::max(fewest, static_cast<std::int64_t>(std::min(affordable, 1e6))));
}

}  // namespace fabricgauge
