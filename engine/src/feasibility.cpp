#include "fabricgauge/feasibility.hpp"

#include <algorithm>

#include "fabricgauge/concurrent_roles.hpp"
#include "fabricgauge/collective_memory.hpp"
#include "fabricgauge/round_robin.hpp"

namespace fabricgauge {

namespace {

std::string mebibytes(std::int64_t bytes) {
    return std::to_string((bytes + (std::int64_t{1} << 20) - 1) >> 20) + " MiB";
}

std::string missing_rounds(const Case& measured, int ranks) {
    const int rounds = rounds_of_round_robin(members_of(measured, ranks));
    if (measured.rounds.empty() || measured.rounds.back() < rounds) return "";
    return "round " + std::to_string(measured.rounds.back()) + " does not exist, there are " +
           std::to_string(rounds);
}

}  // namespace

std::string missing_ranks(const Case& measured, int ranks) {
    const std::string launch =
        "this launch has " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
    if (ranks < 2) return std::string(name_of(measured.pattern)) + " needs 2 ranks, " + launch;
    if (measured.ranks > ranks)
        return "the case is for " + std::to_string(measured.ranks) + " ranks, " + launch;
    if (measured.ranks == 1) return std::string(name_of(measured.pattern)) + " needs 2 ranks";
    if (family_of(measured.pattern) == Family::concurrent_pairs)
        return missing_for_concurrent_pairs(measured, members_of(measured, ranks));
    if (family_of(measured.pattern) == Family::collective)
        return refused_size(measured, members_of(measured, ranks));
    if (family_of(measured.pattern) != Family::pair) return missing_rounds(measured, ranks);
    const int highest = std::max(measured.origin, measured.target);
    if (highest >= ranks) return "rank " + std::to_string(highest) + " does not exist, " + launch;
    if (measured.origin == measured.target)
        return "origin and target are both rank " + std::to_string(measured.origin) + ", " +
               name_of(measured.pattern) + " needs 2 different ranks";
    return "";
}

int members_of(const Case& measured, int ranks) noexcept {
    return measured.ranks > 0 ? measured.ranks : ranks;
}

std::string missing_memory(std::int64_t needed_bytes, std::int64_t available_bytes, int ranks_on_node,
                           const std::string& host) {
    const std::int64_t allowed_bytes = available_bytes / 2 / std::max(1, ranks_on_node);
    if (needed_bytes <= allowed_bytes) return "";
    return host + " has too little memory: the case needs " + mebibytes(needed_bytes) +
           " on a rank, " + mebibytes(allowed_bytes) +
           " are allowed (half of what is available, shared among the ranks of the node); choose a "
           "smaller window or message";
}

}  // namespace fabricgauge
