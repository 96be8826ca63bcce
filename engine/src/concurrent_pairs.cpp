#include "fabricgauge/concurrent_pairs.hpp"

#include <algorithm>

#include "fabricgauge/batching.hpp"

namespace fabricgauge {

namespace {

// Rank 0 has the samples of a round of all ranks, every rank those of its own.
std::int64_t samples_memory_bytes(int measuring) noexcept {
    const std::int64_t of_block = std::max<std::int64_t>(most_samples_of_block, measuring);
    return most_blocks_of_round * of_block * static_cast<std::int64_t>(sizeof(std::int64_t));
}

// The sink of an incast receives the most, a rank among all others sends and receives.
std::int64_t largest_load_memory_bytes(const Case& measured, int members) {
    const std::vector<int> loading = loading_ranks(measured, members);
    if (loading.empty()) return 0;
    const int sink = concurrent_role(measured, members, 0).peer;
    const int busiest = measured.load == Load::incast ? sink : loading.front();
    return load_memory_bytes(load_route(measured, loading, sink, busiest));
}

}  // namespace

std::int64_t concurrent_memory_bytes(const Case& measured, int members, bool check) {
    const std::int64_t of_samples = samples_memory_bytes(measuring_pairs(measured, members));
    if (is_ring(measured.pattern)) return of_samples + ring_memory_bytes(measured);
    const Case pair = case_of_pair(measured, 0, 1);
    return of_samples + memory_needed_bytes(pair, check) +
           largest_load_memory_bytes(measured, members);
}

std::int64_t longest_concurrent_batch(Pattern pattern) noexcept {
    return pattern == Pattern::loaded_latency ? 1 : longest_batch;
}

std::int64_t counted_messages(const Case& measured) noexcept {
    if (measured.pattern == Pattern::multi_bandwidth) return measured.window;
    return measured.pattern == Pattern::bisection ? 2 * measured.window : 0;
}

}  // namespace fabricgauge
