// Rounds of disjoint pairs in which all ranks meet.
//
// The circle method for n ranks; an imaginary one is added to an odd number. Two ranks, neither the
// last, meet in a round if their sum is the round's number, modulo n - 1. The last rank meets the
// one that is left over. So each round has every rank once, and each pair has one round; see e.g.
// de Werra, Discrete Applied Mathematics 2 (1980). src/fabricgauge/check/plan/round_robin.py has the same
// formula.
#pragma once

#include <utility>
#include <vector>

namespace fabricgauge {

// Number of rounds in which n ranks all meet.
int rounds_of_round_robin(int ranks) noexcept;
// The partner of a rank in a round, -1 if it has none.
int partner_in_round(int rank, int round, int ranks) noexcept;
// The pairs of a round, lower rank first, ascending.
std::vector<std::pair<int, int>> pairs_in_round(int round, int ranks);

}  // namespace fabricgauge
