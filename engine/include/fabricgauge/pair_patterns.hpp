// From the pattern that a case of one pair names to its class.
#pragma once

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/messages.hpp"
#include "fabricgauge/one_sided.hpp"
#include "fabricgauge/patterns.hpp"
#include "fabricgauge/persistent.hpp"
#include "fabricgauge/threaded.hpp"

namespace fabricgauge {

template <typename Operation, bool windowed, typename Transport, typename Action>
void with_completion(Epoch epoch, const Exchange<Transport>& exchange, Action&& action) {
    switch (epoch) {
        case Epoch::flush: return action(OneSided<Transport, Operation, Flush, windowed>{exchange});
        case Epoch::fence: return action(OneSided<Transport, Operation, Fence, windowed>{exchange});
        case Epoch::pscw:
            return action(
                OneSided<Transport, Operation, PostStartCompleteWait, windowed>{exchange});
    }
}

template <typename Transport, typename Action>
void with_one_sided(const Case& measured, const Exchange<Transport>& exchange, Action&& action) {
    const Epoch epoch = measured.epoch;
    switch (measured.pattern) {
        case Pattern::put_latency: return with_completion<Put, false>(epoch, exchange, action);
        case Pattern::put_bandwidth: return with_completion<Put, true>(epoch, exchange, action);
        case Pattern::get_latency: return with_completion<Get, false>(epoch, exchange, action);
        case Pattern::get_bandwidth: return with_completion<Get, true>(epoch, exchange, action);
        case Pattern::accumulate_latency:
            return with_completion<Accumulate, false>(epoch, exchange, action);
        case Pattern::fetch_and_op_latency:
            return with_completion<FetchAndOp, false>(epoch, exchange, action);
        default: return with_completion<CompareAndSwap, false>(epoch, exchange, action);
    }
}

// Calls `action` with the pattern that the case names, between this rank and `peer`.
template <typename Transport, typename Action>
void with_pair_pattern(const Case& measured, Transport& transport, const Messages& messages,
                       int peer, Action&& action) {
    const Exchange<Transport> exchange{transport, messages.slots(), measured.message_bytes,
                                       window_slots(measured), peer};
    if (is_one_sided(measured.pattern)) return with_one_sided(measured, exchange, action);
    switch (measured.pattern) {
        case Pattern::persistent_latency: return action(PersistentLatency<Transport>{exchange});
        case Pattern::persistent_bandwidth: return action(PersistentBandwidth<Transport>{exchange});
        case Pattern::threads_latency:
            return with_threads<Latency, Shared::each>(transport, messages, measured, peer, action);
        case Pattern::threads_bandwidth:
            return with_threads<Bandwidth, Shared::together>(transport, messages, measured, peer,
                                                             action);
        default: return with_pattern(measured.pattern, exchange, action);
    }
}

}  // namespace fabricgauge
