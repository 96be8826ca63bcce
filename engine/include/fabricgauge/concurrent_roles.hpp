// The roles of ranks in a case of several pairs, of neighbours, or of pairs under load.
//
// Pairs join the first half of the ranks with the second: i measures with i + half, so that every
// pair crosses the middle, and with the usual placement leaves its node. The victims of a load are
// the outermost pairs, 0 with the last rank, 1 with the one before it and so on; those between them
// make the load.
#pragma once

#include <string>
#include <vector>

#include "fabricgauge/case_list.hpp"

namespace fabricgauge {

enum class ConcurrentPart { origin, target, loader, idle };

// `peer` is the other end of the pair, in a ring the right neighbour, else the rank itself.
struct ConcurrentRole {
    ConcurrentPart part;
    int peer;
};

// Every rank with its neighbours.
bool is_ring(Pattern pattern) noexcept;
// The number of pairs that measure; in a ring each rank and its right neighbour are a pair.
int measuring_pairs(const Case& measured, int members) noexcept;
ConcurrentRole concurrent_role(const Case& measured, int members, int rank) noexcept;
// The ranks that make load, ascending; none without a load.
std::vector<int> loading_ranks(const Case& measured, int members);

// Empty if the members are enough for the pairs and the load that the case names.
std::string missing_for_concurrent_pairs(const Case& measured, int members);

// The case of the pair of `origin` and `target`: a pattern of one pair.
Case case_of_pair(const Case& measured, int origin, int target);

}  // namespace fabricgauge
