#include "fabricgauge/pattern.hpp"

#include <cstddef>
#include <iterator>

namespace fabricgauge {

namespace {

struct Traits {
    Pattern pattern;
    const char* name;
    Family family;
    bool one_sided;
    bool windowed;
};

constexpr Traits table[] = {
    {Pattern::latency, "latency", Family::pair, false, false},
    {Pattern::bandwidth, "bandwidth", Family::pair, false, true},
    {Pattern::bidirectional_bandwidth, "bidirectional_bandwidth", Family::pair, false, true},
    {Pattern::ping_ping, "ping_ping", Family::pair, false, false},
    {Pattern::put_latency, "put_latency", Family::pair, true, false},
    {Pattern::put_bandwidth, "put_bandwidth", Family::pair, true, true},
    {Pattern::get_latency, "get_latency", Family::pair, true, false},
    {Pattern::get_bandwidth, "get_bandwidth", Family::pair, true, true},
    {Pattern::accumulate_latency, "accumulate_latency", Family::pair, true, false},
    {Pattern::fetch_and_op_latency, "fetch_and_op_latency", Family::pair, true, false},
    {Pattern::compare_and_swap_latency, "compare_and_swap_latency", Family::pair, true, false},
    {Pattern::persistent_latency, "persistent_latency", Family::pair, false, false},
    {Pattern::persistent_bandwidth, "persistent_bandwidth", Family::pair, false, true},
    {Pattern::threads_latency, "threads_latency", Family::pair, false, false},
    {Pattern::threads_bandwidth, "threads_bandwidth", Family::pair, false, true},
    {Pattern::multi_latency, "multi_latency", Family::concurrent_pairs, false, false},
    {Pattern::multi_bandwidth, "multi_bandwidth", Family::concurrent_pairs, false, true},
    {Pattern::sendrecv, "sendrecv", Family::concurrent_pairs, false, false},
    {Pattern::exchange, "exchange", Family::concurrent_pairs, false, false},
    {Pattern::loaded_latency, "loaded_latency", Family::concurrent_pairs, false, false},
    {Pattern::bisection, "bisection", Family::concurrent_pairs, false, true},
    {Pattern::barrier, "barrier", Family::collective, false, false},
    {Pattern::bcast, "bcast", Family::collective, false, false},
    {Pattern::reduce, "reduce", Family::collective, false, false},
    {Pattern::allreduce, "allreduce", Family::collective, false, false},
    {Pattern::reduce_scatter, "reduce_scatter", Family::collective, false, false},
    {Pattern::allgather, "allgather", Family::collective, false, false},
    {Pattern::allgatherv, "allgatherv", Family::collective, false, false},
    {Pattern::gather, "gather", Family::collective, false, false},
    {Pattern::gatherv, "gatherv", Family::collective, false, false},
    {Pattern::scatter, "scatter", Family::collective, false, false},
    {Pattern::scatterv, "scatterv", Family::collective, false, false},
    {Pattern::alltoall, "alltoall", Family::collective, false, false},
    {Pattern::alltoallv, "alltoallv", Family::collective, false, false},
    {Pattern::ibarrier, "ibarrier", Family::collective, false, false},
    {Pattern::ibcast, "ibcast", Family::collective, false, false},
    {Pattern::ireduce, "ireduce", Family::collective, false, false},
    {Pattern::iallreduce, "iallreduce", Family::collective, false, false},
    {Pattern::ireduce_scatter, "ireduce_scatter", Family::collective, false, false},
    {Pattern::iallgather, "iallgather", Family::collective, false, false},
    {Pattern::iallgatherv, "iallgatherv", Family::collective, false, false},
    {Pattern::igather, "igather", Family::collective, false, false},
    {Pattern::igatherv, "igatherv", Family::collective, false, false},
    {Pattern::iscatter, "iscatter", Family::collective, false, false},
    {Pattern::iscatterv, "iscatterv", Family::collective, false, false},
    {Pattern::ialltoall, "ialltoall", Family::collective, false, false},
    {Pattern::ialltoallv, "ialltoallv", Family::collective, false, false},
    {Pattern::all_pairs_latency, "all_pairs_latency", Family::round_robin, false, false},
    {Pattern::all_pairs_bandwidth, "all_pairs_bandwidth", Family::round_robin, false, true},
};

constexpr bool in_order() {
    for (std::size_t i = 0; i < std::size(table); ++i)
        if (static_cast<std::size_t>(table[i].pattern) != i) return false;
    return true;
}
static_assert(in_order(), "rows are looked up by the pattern's number");

const Traits& traits_of(Pattern pattern) noexcept {
    return table[static_cast<std::size_t>(pattern)];
}

}  // namespace

const char* name_of(Pattern pattern) noexcept { return traits_of(pattern).name; }
Family family_of(Pattern pattern) noexcept { return traits_of(pattern).family; }
bool is_one_sided(Pattern pattern) noexcept { return traits_of(pattern).one_sided; }
bool has_window(Pattern pattern) noexcept { return traits_of(pattern).windowed; }
bool is_threaded(Pattern pattern) noexcept {
    return pattern == Pattern::threads_latency || pattern == Pattern::threads_bandwidth;
}

std::optional<Pattern> pattern_named(std::string_view name) noexcept {
    for (const Traits& traits : table)
        if (name == traits.name) return traits.pattern;
    return std::nullopt;
}

std::string all_pattern_names() {
    std::string names;
    for (const Traits& traits : table) names += (names.empty() ? "" : ", ") + std::string(traits.name);
    return names;
}

}  // namespace fabricgauge
