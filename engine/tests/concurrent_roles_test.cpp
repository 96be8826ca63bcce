#include "fabricgauge/concurrent_roles.hpp"

#include "check.hpp"

using namespace fabricgauge;

namespace {

Case with(Pattern pattern, int pairs = 0, Load load = Load::none) {
    Case made{"a", pattern, 8, 1, 0, 1, 1.0};
    made.pairs = pairs;
    made.load = load;
    return made;
}

constexpr Pattern paired[] = {Pattern::multi_latency, Pattern::multi_bandwidth, Pattern::bisection,
                              Pattern::loaded_latency};

int count_of(ConcurrentPart part, const Case& measured, int members) {
    int count = 0;
    for (int rank = 0; rank < members; ++rank)
        if (concurrent_role(measured, members, rank).part == part) ++count;
    return count;
}

}  // namespace

int main() {
    check::test("both ends of a pair name each other, with every number of pairs", [] {
        for (const Pattern pattern : paired)
            for (int members = 2; members < 12; ++members)
                for (int pairs = 1; pairs <= members / 2; ++pairs) {
                    const Case measured = with(pattern, pairs);
                    check::expect_equal(count_of(ConcurrentPart::origin, measured, members), pairs);
                    check::expect_equal(count_of(ConcurrentPart::target, measured, members), pairs);
                    for (int rank = 0; rank < members; ++rank) {
                        const ConcurrentRole role = concurrent_role(measured, members, rank);
                        const ConcurrentRole other = concurrent_role(measured, members, role.peer);
                        check::expect_equal(other.peer, rank);
                        if (role.part == ConcurrentPart::origin)
                            check::expect(other.part == ConcurrentPart::target);
                    }
                }
    });
    check::test("every pair crosses the middle", [] {
        for (const Pattern pattern : paired)
            for (int members = 2; members < 12; ++members)
                for (int rank = 0; rank < members; ++rank) {
                    const ConcurrentRole role = concurrent_role(with(pattern), members, rank);
                    if (role.part == ConcurrentPart::origin)
                        check::expect(rank < members / 2 && role.peer >= members / 2);
                }
    });
    check::test("rank 0 always measures", [] {
        for (const Pattern pattern : {Pattern::multi_latency, Pattern::sendrecv, Pattern::exchange,
                                      Pattern::loaded_latency})
            for (int members = 2; members < 9; ++members)
                check::expect(concurrent_role(with(pattern), members, 0).part ==
                              ConcurrentPart::origin);
    });
    check::test("without being told a number all pairs measure, but one victim", [] {
        check::expect_equal(measuring_pairs(with(Pattern::multi_latency), 9), 4);
        check::expect_equal(measuring_pairs(with(Pattern::loaded_latency), 9), 1);
        check::expect_equal(measuring_pairs(with(Pattern::sendrecv), 9), 9);
    });
    check::test("a rank that does not measure makes the load, or is idle without one", [] {
        const Case loaded = with(Pattern::loaded_latency, 2, Load::permutation);
        check::expect(loading_ranks(loaded, 7) == std::vector<int>({2, 3, 4}));
        check::expect(loading_ranks(with(Pattern::loaded_latency, 2), 7).empty());
        check::expect_equal(count_of(ConcurrentPart::idle, with(Pattern::loaded_latency, 2), 7), 3);
    });
    check::test("too few ranks are refused with what is needed", [] {
        check::expect_equal(missing_for_concurrent_pairs(with(Pattern::multi_latency, 3), 5),
                            "3 pairs of multi_latency need 6 ranks, the case has 5");
        check::expect_equal(missing_for_concurrent_pairs(with(Pattern::multi_latency, 3), 6), "");
        check::expect_equal(
            missing_for_concurrent_pairs(with(Pattern::loaded_latency, 1, Load::incast), 2),
            "1 pair and 1 rank for the load incast of loaded_latency need 3 ranks, the case has 2");
        const auto enough = [](Load load, int members) {
            return missing_for_concurrent_pairs(with(Pattern::loaded_latency, 1, load), members)
                .empty();
        };
        check::expect(enough(Load::incast, 3));
        check::expect(!enough(Load::all_to_all, 3) && enough(Load::all_to_all, 4));
        check::expect(!enough(Load::permutation, 3) && enough(Load::permutation, 4));
        check::expect_equal(missing_for_concurrent_pairs(with(Pattern::exchange, 50), 2), "");
    });
    return check::outcome();
}
