// The two halves of each collective: its start, and the wait for its end.
//
// A blocking one is all start. `Collectives` has one function for each operation, and for a
// non-blocking one `start_` before its name and `complete`.
#pragma once

#include <utility>

#include "fabricgauge/pattern.hpp"

namespace fabricgauge {

template <typename Collectives, typename Start>
struct Blocking {
    static constexpr bool nonblocking = false;
    Collectives& with;
    Start begin;

    void start() const { begin(with); }
    void complete() const {}
};

template <typename Collectives, typename Start>
struct Nonblocking {
    static constexpr bool nonblocking = true;
    Collectives& with;
    Start begin;

    void start() const { begin(with); }
    void complete() const { with.complete(); }
};

// Calls `action` with the operation that the pattern names.
template <typename Collectives, typename Action>
void with_blocking(Pattern pattern, Collectives& with, Action&& action) {
    const auto run = [&](auto start) {
        action(Blocking<Collectives, decltype(start)>{with, start});
    };
    using All = Collectives;
    switch (pattern) {
        case Pattern::barrier: return run([](All& all) { all.barrier(); });
        case Pattern::bcast: return run([](All& all) { all.bcast(); });
        case Pattern::reduce: return run([](All& all) { all.reduce(); });
        case Pattern::allreduce: return run([](All& all) { all.allreduce(); });
        case Pattern::reduce_scatter: return run([](All& all) { all.reduce_scatter(); });
        case Pattern::allgather: return run([](All& all) { all.allgather(); });
        case Pattern::allgatherv: return run([](All& all) { all.allgatherv(); });
        case Pattern::gather: return run([](All& all) { all.gather(); });
        case Pattern::gatherv: return run([](All& all) { all.gatherv(); });
        case Pattern::scatter: return run([](All& all) { all.scatter(); });
        case Pattern::scatterv: return run([](All& all) { all.scatterv(); });
        case Pattern::alltoall: return run([](All& all) { all.alltoall(); });
        case Pattern::alltoallv: return run([](All& all) { all.alltoallv(); });
        default: return;
    }
}

template <typename Collectives, typename Action>
void with_nonblocking(Pattern pattern, Collectives& with, Action&& action) {
    const auto run = [&](auto start) {
        action(Nonblocking<Collectives, decltype(start)>{with, start});
    };
    using All = Collectives;
    switch (pattern) {
        case Pattern::ibarrier: return run([](All& all) { all.start_barrier(); });
        case Pattern::ibcast: return run([](All& all) { all.start_bcast(); });
        case Pattern::ireduce: return run([](All& all) { all.start_reduce(); });
        case Pattern::iallreduce: return run([](All& all) { all.start_allreduce(); });
        case Pattern::ireduce_scatter: return run([](All& all) { all.start_reduce_scatter(); });
        case Pattern::iallgather: return run([](All& all) { all.start_allgather(); });
        case Pattern::iallgatherv: return run([](All& all) { all.start_allgatherv(); });
        case Pattern::igather: return run([](All& all) { all.start_gather(); });
        case Pattern::igatherv: return run([](All& all) { all.start_gatherv(); });
        case Pattern::iscatter: return run([](All& all) { all.start_scatter(); });
        case Pattern::iscatterv: return run([](All& all) { all.start_scatterv(); });
        case Pattern::ialltoall: return run([](All& all) { all.start_alltoall(); });
        case Pattern::ialltoallv: return run([](All& all) { all.start_alltoallv(); });
        default: return;
    }
}

template <typename Collectives, typename Action>
void with_collective(Pattern pattern, Collectives& with, Action&& action) {
    with_blocking(pattern, with, action);
    with_nonblocking(pattern, with, action);
}

}  // namespace fabricgauge
