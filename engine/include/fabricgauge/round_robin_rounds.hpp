// Rounds of disjoint pairs in which all ranks meet.
//
// The circle method: of n ranks (an imaginary one is added to an odd number) the last stays, the
// others meet whoever makes the sum of both numbers that of the round, modulo n - 1. So each round
// has every rank once, and each pair has one round; see e.g. de Werra, Discrete Applied
// Mathematics 2 (1980). src/fabricgauge/plan/round_robin.py has the same formula.
#pragma once

#include <utility>
#include <vector>

namespace fabricgauge {

// Number of rounds in which n ranks all meet.
int rounds_of_round_robin(int ranks) noexcept;
// Whom a rank meets in a round, -1 if nobody.
int partner_in_round(int rank, int round, int ranks) noexcept;
// The pairs of a round, lower rank first, ascending.
std::vector<std::pair<int, int>> pairs_in_round(int round, int ranks);

}  // namespace fabricgauge
