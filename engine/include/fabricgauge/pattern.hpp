// The patterns by name, and how each is driven.
//
// A family is a way to bring ranks together: one pair, several pairs or neighbours at once, all
// ranks in one operation, or every pair in turn. To add a pattern: a row here, and its part in the
// family's header.
#pragma once

#include <string_view>
#include <optional>
#include <string>

namespace fabricgauge {

enum class Family { pair, concurrent_pairs, collective, round_robin };

enum class Sides { two_sided, one_sided };
// A sample is the time of a single message or operation, or of a whole window of messages.
enum class Sample { single, window };
// The ability that a transport other than MPI needs for a pattern; each includes those before it.
// Only MPI has the others.
enum class Abilities { messages, one_sided, atomics, mpi };

// Name, family, sides, sample, ability. Both the enumeration and the table are made of these rows.
#define FABRICGAUGE_PATTERNS(ROW) \
    ROW(latency, pair, two_sided, single, messages) \
    ROW(bandwidth, pair, two_sided, window, messages) \
    ROW(bidirectional_bandwidth, pair, two_sided, window, messages) \
    ROW(ping_ping, pair, two_sided, single, messages) \
    ROW(put_latency, pair, one_sided, single, one_sided) \
    ROW(put_bandwidth, pair, one_sided, window, one_sided) \
    ROW(get_latency, pair, one_sided, single, one_sided) \
    ROW(get_bandwidth, pair, one_sided, window, one_sided) \
    ROW(accumulate_latency, pair, one_sided, single, mpi) \
    ROW(fetch_and_op_latency, pair, one_sided, single, atomics) \
    ROW(compare_and_swap_latency, pair, one_sided, single, atomics) \
    ROW(persistent_latency, pair, two_sided, single, mpi) \
    ROW(persistent_bandwidth, pair, two_sided, window, mpi) \
    ROW(threads_latency, pair, two_sided, single, mpi) \
    ROW(threads_bandwidth, pair, two_sided, window, mpi) \
    ROW(multi_latency, concurrent_pairs, two_sided, single, mpi) \
    ROW(multi_bandwidth, concurrent_pairs, two_sided, window, mpi) \
    ROW(sendrecv, concurrent_pairs, two_sided, single, mpi) \
    ROW(exchange, concurrent_pairs, two_sided, single, mpi) \
    ROW(loaded_latency, concurrent_pairs, two_sided, single, mpi) \
    ROW(bisection, concurrent_pairs, two_sided, window, mpi) \
    ROW(barrier, collective, two_sided, single, mpi) \
    ROW(bcast, collective, two_sided, single, mpi) \
    ROW(reduce, collective, two_sided, single, mpi) \
    ROW(allreduce, collective, two_sided, single, mpi) \
    ROW(reduce_scatter, collective, two_sided, single, mpi) \
    ROW(allgather, collective, two_sided, single, mpi) \
    ROW(allgatherv, collective, two_sided, single, mpi) \
    ROW(gather, collective, two_sided, single, mpi) \
    ROW(gatherv, collective, two_sided, single, mpi) \
    ROW(scatter, collective, two_sided, single, mpi) \
    ROW(scatterv, collective, two_sided, single, mpi) \
    ROW(alltoall, collective, two_sided, single, mpi) \
    ROW(alltoallv, collective, two_sided, single, mpi) \
    ROW(ibarrier, collective, two_sided, single, mpi) \
    ROW(ibcast, collective, two_sided, single, mpi) \
    ROW(ireduce, collective, two_sided, single, mpi) \
    ROW(iallreduce, collective, two_sided, single, mpi) \
    ROW(ireduce_scatter, collective, two_sided, single, mpi) \
    ROW(iallgather, collective, two_sided, single, mpi) \
    ROW(iallgatherv, collective, two_sided, single, mpi) \
    ROW(igather, collective, two_sided, single, mpi) \
    ROW(igatherv, collective, two_sided, single, mpi) \
    ROW(iscatter, collective, two_sided, single, mpi) \
    ROW(iscatterv, collective, two_sided, single, mpi) \
    ROW(ialltoall, collective, two_sided, single, mpi) \
    ROW(ialltoallv, collective, two_sided, single, mpi) \
    ROW(all_pairs_latency, round_robin, two_sided, single, mpi) \
    ROW(all_pairs_bandwidth, round_robin, two_sided, window, mpi)

#define FABRICGAUGE_NAME(name, family, sides, sample, ability) name,
enum class Pattern { FABRICGAUGE_PATTERNS(FABRICGAUGE_NAME) };
#undef FABRICGAUGE_NAME

const char* name_of(Pattern pattern) noexcept;
Family family_of(Pattern pattern) noexcept;
bool is_one_sided(Pattern pattern) noexcept;
// Return true if a sample is a whole window of messages.
bool has_window(Pattern pattern) noexcept;
// Return true if several threads of a rank take part.
bool is_threaded(Pattern pattern) noexcept;
Abilities ability_for(Pattern pattern) noexcept;

std::optional<Pattern> pattern_named(std::string_view name) noexcept;
// "latency, bandwidth, …"
std::string all_pattern_names();

}  // namespace fabricgauge
