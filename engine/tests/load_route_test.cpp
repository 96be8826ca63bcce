#include "fabricgauge/load_route.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "check.hpp"

using namespace fabricgauge;

namespace {

Case with(Load load, std::int64_t window) {
    Case made{"a", Pattern::loaded_latency, 8, window, 0, 1, 1.0};
    made.load = load;
    return made;
}

std::vector<int> ranks_from(int first, int count) {
    std::vector<int> ranks(static_cast<std::size_t>(count));
    std::iota(ranks.begin(), ranks.end(), first);
    return ranks;
}

// The k-th target of `rank` has `rank` as its k-th source.
void expect_steps_agree(Load load, int count, std::int64_t window) {
    const std::vector<int> loading = ranks_from(3, count);
    for (const int rank : loading) {
        const LoadRoute own = load_route(with(load, window), loading, 99, rank);
        check::expect(own.targets.size() >= static_cast<std::size_t>(load_in_flight(with(load, window))));
        check::expect_equal(own.sources.size(), own.targets.size());
        for (std::size_t step = 0; step < own.targets.size(); ++step) {
            check::expect(own.targets[step] != rank);
            const LoadRoute other = load_route(with(load, window), loading, 99, own.targets[step]);
            check::expect_equal(other.sources[step], rank);
        }
    }
}

}  // namespace

int main() {
    check::test("both ends of a step agree, with any number of ranks and messages", [] {
        for (int count = 2; count < 10; ++count)
            for (const std::int64_t window : {1, 2, 3, 7}) {
                expect_steps_agree(Load::all_to_all, count, window);
                expect_steps_agree(Load::permutation, count, window);
            }
    });
    check::test("all to all visits every other rank equally often", [] {
        const LoadRoute route = load_route(with(Load::all_to_all, 8), ranks_from(0, 4), 99, 2);
        for (const int other : {0, 1, 3})
            check::expect_equal(std::count(route.targets.begin(), route.targets.end(), other), 3);
    });
    check::test("a permutation is one circle through all, and not the order of ranks", [] {
        const std::vector<int> loading = ranks_from(0, 64);
        std::set<int> visited;
        int at = 0;
        int neighbours = 0;
        for (; visited.insert(at).second;) {
            const int next = load_route(with(Load::permutation, 1), loading, 99, at).targets.front();
            if (next == (at + 1) % 64) ++neighbours;
            at = next;
        }
        check::expect_equal(visited.size(), loading.size());
        check::expect(neighbours < 16);
    });
    check::test("an incast has one sink, which sends nothing", [] {
        const std::vector<int> loading = ranks_from(1, 5);
        const LoadRoute sink = load_route(with(Load::incast, 3), loading, 6, 6);
        check::expect(sink.targets.empty());
        check::expect_equal(sink.sources.size(), 15U);
        const LoadRoute other = load_route(with(Load::incast, 3), loading, 6, 2);
        check::expect(other.targets == std::vector<int>(3, 6) && other.sources.empty());
    });
    return check::outcome();
}
