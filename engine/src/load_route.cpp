#include "fabricgauge/load_route.hpp"

#include <algorithm>
#include <cstddef>
#include <random>
#include <utility>

namespace fabricgauge {

namespace {

constexpr std::uint64_t permutation_seed = 1;

std::size_t place_of(const std::vector<int>& ranks, int rank) {
    return static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

// Sattolo's algorithm, which permutes in a single cycle: Information Processing Letters 22 (1986).
// The order of the circle is then that in which the permutation visits the ranks. The generator's
// numbers are taken as they are, since the standard's distributions differ between libraries.
std::vector<int> circle_through(const std::vector<int>& ranks) {
    std::vector<std::size_t> next(ranks.size());
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = i;
    std::mt19937_64 random(permutation_seed);
    for (std::size_t i = next.size(); i-- > 1;) std::swap(next[i], next[random() % i]);
    std::vector<int> circle;
    for (std::size_t at = 0; circle.size() < ranks.size(); at = next[at])
        circle.push_back(ranks[at]);
    return circle;
}

// The ranks 1 … steps to the right as targets, those to the left as sources.
LoadRoute route_in_circle(const std::vector<int>& circle, int rank, std::size_t steps) {
    LoadRoute once;
    const std::size_t own = place_of(circle, rank);
    for (std::size_t step = 1; step <= steps; ++step) {
        once.targets.push_back(circle[(own + step) % circle.size()]);
        once.sources.push_back(circle[(own + circle.size() - step) % circle.size()]);
    }
    return once;
}

LoadRoute route_once(Load load, const std::vector<int>& loading, int sink, int rank) {
    switch (load) {
        case Load::none: return {};
        case Load::incast:
            return rank == sink ? LoadRoute{{}, loading} : LoadRoute{{sink}, {}};
        case Load::all_to_all: return route_in_circle(loading, rank, loading.size() - 1);
        case Load::permutation: return route_in_circle(circle_through(loading), rank, 1);
    }
    return {};
}

// The number of repetitions of a route, so that it has room for the messages in flight.
std::size_t channels(const Case& measured, std::size_t loading) noexcept {
    const std::size_t length = measured.load == Load::all_to_all ? loading - 1 : 1;
    return (static_cast<std::size_t>(load_in_flight(measured)) + length - 1) / length;
}

std::vector<int> repeated(const std::vector<int>& once, std::size_t times) {
    std::vector<int> all;
    for (std::size_t time = 0; time < times; ++time)
        all.insert(all.end(), once.begin(), once.end());
    return all;
}

}  // namespace

std::int64_t load_in_flight(const Case& measured) noexcept {
    return std::max<std::int64_t>(2, measured.window);
}

LoadRoute load_route(const Case& measured, const std::vector<int>& loading, int sink, int rank) {
    const LoadRoute once = route_once(measured.load, loading, sink, rank);
    const std::size_t times = channels(measured, loading.size());
    return {repeated(once.targets, times), repeated(once.sources, times)};
}

}  // namespace fabricgauge
