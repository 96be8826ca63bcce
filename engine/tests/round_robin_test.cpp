#include "fabricgauge/round_robin.hpp"

#include <set>

#include "check.hpp"

using namespace fabricgauge;

int main() {
    check::test("every pair meets exactly once, and nobody twice in a round", [] {
        for (int ranks = 2; ranks <= 33; ++ranks) {
            std::set<std::pair<int, int>> met;
            for (int round = 0; round < rounds_of_round_robin(ranks); ++round) {
                std::set<int> busy;
                for (const auto& pair : pairs_in_round(round, ranks)) {
                    check::expect(pair.first < pair.second && pair.second < ranks);
                    check::expect(met.insert(pair).second);
                    check::expect(busy.insert(pair.first).second && busy.insert(pair.second).second);
                }
                check::expect_equal(busy.size(), static_cast<std::size_t>(ranks - ranks % 2));
            }
            check::expect_equal(met.size(), static_cast<std::size_t>(ranks * (ranks - 1) / 2));
        }
    });
    check::test("partners know each other", [] {
        for (const int ranks : {2, 5, 8, 10'240})
            for (const int round : {0, rounds_of_round_robin(ranks) - 1})
                for (int rank = 0; rank < ranks; ++rank)
                    if (const int other = partner_in_round(rank, round, ranks); other >= 0)
                        check::expect_equal(partner_in_round(other, round, ranks), rank);
    });
    check::test("no ranks, no rounds", [] {
        check::expect_equal(rounds_of_round_robin(0), 0);
        check::expect_equal(rounds_of_round_robin(1), 0);
        check::expect_equal(rounds_of_round_robin(2), 1);
        check::expect_equal(rounds_of_round_robin(3), 3);
    });
    check::test("the times of a pair survive the way to rank 0", [] {
        const std::vector<PairTime> there = {{0, 3, 7, 100, 120, 9}, {3, 0, 8, 101, 121, 10, -5}};
        const std::vector<PairTime> back = unpack_pair_times(pack(there));
        check::expect_equal(back.size(), std::size_t{2});
        check::expect_equal(back[1].origin, 3);
        check::expect_equal(back[1].quartile_ps, 10);
        check::expect_equal(back[1].one_way_ps, -5);
        check::expect_equal(unpack_pair_times("").size(), std::size_t{0});
    });
    return check::outcome();
}
