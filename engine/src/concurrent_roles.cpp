#include "fabricgauge/concurrent_roles.hpp"

namespace fabricgauge {

namespace {

bool is_loaded(const Case& measured) noexcept {
    return measured.pattern == Pattern::loaded_latency;
}

// An incast has a victim for its sink; other loads need somebody else to send to.
int fewest_loading(Load load) noexcept {
    switch (load) {
        case Load::none: return 0;
        case Load::incast: return 1;
        case Load::all_to_all:
        case Load::permutation: return 2;
    }
    return 0;
}

Pattern pattern_of_pair(Pattern pattern) noexcept {
    switch (pattern) {
        case Pattern::multi_bandwidth: return Pattern::bandwidth;
        case Pattern::bisection: return Pattern::bidirectional_bandwidth;
        default: return Pattern::latency;
    }
}

std::string plural(int count, const std::string& what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

bool is_ring(Pattern pattern) noexcept {
    return pattern == Pattern::sendrecv || pattern == Pattern::exchange;
}

int measuring_pairs(const Case& measured, int members) noexcept {
    if (is_ring(measured.pattern)) return members;
    if (measured.pairs > 0) return measured.pairs;
    return is_loaded(measured) ? 1 : members / 2;
}

ConcurrentRole concurrent_role(const Case& measured, int members, int rank) noexcept {
    if (is_ring(measured.pattern)) return {ConcurrentPart::origin, (rank + 1) % members};
    const int pairs = measuring_pairs(measured, members);
    const int first_target = is_loaded(measured) ? members - pairs : members / 2;
    if (rank < pairs)
        return {ConcurrentPart::origin,
                is_loaded(measured) ? members - 1 - rank : rank + first_target};
    if (rank >= first_target && rank < first_target + pairs)
        return {ConcurrentPart::target,
                is_loaded(measured) ? members - 1 - rank : rank - first_target};
    const bool loads = is_loaded(measured) && measured.load != Load::none;
    return {loads ? ConcurrentPart::loader : ConcurrentPart::idle, rank};
}

std::vector<int> loading_ranks(const Case& measured, int members) {
    std::vector<int> loading;
    for (int rank = 0; rank < members; ++rank)
        if (concurrent_role(measured, members, rank).part == ConcurrentPart::loader)
            loading.push_back(rank);
    return loading;
}

std::string missing_for_concurrent_pairs(const Case& measured, int members) {
    if (is_ring(measured.pattern)) return "";
    const int pairs = measuring_pairs(measured, members);
    const int loading = is_loaded(measured) ? fewest_loading(measured.load) : 0;
    const int needed = 2 * pairs + loading;
    if (needed <= members) return "";
    const std::string load = loading == 0 ? ""
                                          : " and " + plural(loading, "rank") + " for the load " +
                                                name_of(measured.load);
    return plural(pairs, "pair") + load + " of " + name_of(measured.pattern) + " need " +
           plural(needed, "rank") + ", the case has " + std::to_string(members);
}

Case case_of_pair(const Case& measured, int origin, int target) {
    Case pair = measured;
    pair.pattern = pattern_of_pair(measured.pattern);
    pair.origin = origin;
    pair.target = target;
    return pair;
}

}  // namespace fabricgauge
