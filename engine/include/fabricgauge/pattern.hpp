// The patterns by name, and how each is driven.
//
// A family is a way to bring ranks together: one pair, several pairs or neighbours at once, all
// ranks in one operation, or every pair in turn. To add a pattern: a name here, a row in the table,
// and its part in the family's header.
#pragma once

#include <string_view>
#include <optional>
#include <string>

namespace fabricgauge {

enum class Family { pair, concurrent_pairs, collective, round_robin };

enum class Pattern {
    latency,
    bandwidth,
    bidirectional_bandwidth,
    ping_ping,
    put_latency,
    put_bandwidth,
    get_latency,
    get_bandwidth,
    accumulate_latency,
    fetch_and_op_latency,
    compare_and_swap_latency,
    persistent_latency,
    persistent_bandwidth,
    threads_latency,
    threads_bandwidth,
    multi_latency,
    multi_bandwidth,
    sendrecv,
    exchange,
    loaded_latency,
    bisection,
    barrier,
    bcast,
    reduce,
    allreduce,
    reduce_scatter,
    allgather,
    allgatherv,
    gather,
    gatherv,
    scatter,
    scatterv,
    alltoall,
    alltoallv,
    ibarrier,
    ibcast,
    ireduce,
    iallreduce,
    ireduce_scatter,
    iallgather,
    iallgatherv,
    igather,
    igatherv,
    iscatter,
    iscatterv,
    ialltoall,
    ialltoallv,
    all_pairs_latency,
    all_pairs_bandwidth,
};

const char* name_of(Pattern pattern) noexcept;
Family family_of(Pattern pattern) noexcept;
bool is_one_sided(Pattern pattern) noexcept;
// Return true if a sample is a whole window of messages.
bool has_window(Pattern pattern) noexcept;
// Return true if several threads of a rank take part.
bool is_threaded(Pattern pattern) noexcept;

std::optional<Pattern> pattern_named(std::string_view name) noexcept;
// "latency, bandwidth, …"
std::string all_pattern_names();

}  // namespace fabricgauge
