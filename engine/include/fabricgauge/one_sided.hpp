// The operations of origin and target in the one-sided patterns: an operation, its completion, and
// the number of operations in a sample.
//
// Under a flush the target has nothing to do; it waits for the next round inside the message layer,
// which lets the layer make progress where that is needed, or sleeps where it is not. A fence and
// post-start-complete-wait are calls of both sides (MPI 3.1, chapter 11.5).
#pragma once

#include <cstdint>

#include "fabricgauge/patterns.hpp"

namespace fabricgauge {

// An operation has `start`, which begins the operation of a slot, and members that describe its
// data.

struct Put {
    static constexpr bool origin_sends = true;
    static constexpr bool target_sends = false;
    static constexpr bool target_fills = false;

    template <typename Transport>
    static void start(const Exchange<Transport>& of, std::int64_t slot) {
        of.transport.put(of.slots.outgoing(slot), of.bytes, of.peer, slot * of.bytes);
    }
};

struct Get {
    static constexpr bool origin_sends = false;
    static constexpr bool target_sends = true;
    static constexpr bool target_fills = true;

    template <typename Transport>
    static void start(const Exchange<Transport>& of, std::int64_t slot) {
        of.transport.get(of.slots.incoming(slot), of.bytes, of.peer, slot * of.bytes);
    }
};

struct Accumulate {
    static constexpr bool origin_sends = true;
    static constexpr bool target_sends = false;
    static constexpr bool target_fills = true;

    template <typename Transport>
    static void start(const Exchange<Transport>& of, std::int64_t slot) {
        of.transport.accumulate(of.slots.outgoing(slot), of.bytes, of.peer, slot * of.bytes);
    }
};

struct FetchAndOp {
    static constexpr bool origin_sends = true;
    static constexpr bool target_sends = true;
    static constexpr bool target_fills = true;

    template <typename Transport>
    static void start(const Exchange<Transport>& of, std::int64_t) {
        of.transport.fetch_and_add(of.slots.out, of.slots.in, of.peer);
    }
};

// Compares with the known content of the window, so that every swap is made.
struct CompareAndSwap {
    static constexpr bool origin_sends = true;
    static constexpr bool target_sends = true;
    static constexpr bool target_fills = true;

    template <typename Transport>
    static void start(const Exchange<Transport>& of, std::int64_t) {
        of.transport.compare_and_swap(of.slots.out, of.slots.reply, of.slots.in, of.peer);
    }
};

// A completion has what origin and target do around the operations of a sample, and what makes the
// target's own memory agree with its window before and after a sample that is checked.

struct Flush {
    template <typename Transport>
    static void begin(Transport&) {}
    template <typename Transport>
    static void end(Transport& transport, int peer) {
        transport.flush(peer);
    }
    template <typename Transport>
    static void at_target(Transport&) {}
    template <typename Transport>
    static void expose(Transport& transport) {
        transport.sync_window();
    }
    template <typename Transport>
    static void collect(Transport& transport) {
        transport.sync_window();
    }
};

// One fence a sample: it ends this sample's epoch and begins that of the next.
struct Fence {
    template <typename Transport>
    static void begin(Transport&) {}
    template <typename Transport>
    static void end(Transport& transport, int) {
        transport.fence();
    }
    template <typename Transport>
    static void at_target(Transport& transport) {
        transport.fence();
    }
    template <typename Transport>
    static void expose(Transport& transport) {
        transport.fence();
    }
    template <typename Transport>
    static void collect(Transport&) {}
};

struct PostStartCompleteWait {
    template <typename Transport>
    static void begin(Transport& transport) {
        transport.start_access();
    }
    template <typename Transport>
    static void end(Transport& transport, int) {
        transport.complete_access();
    }
    template <typename Transport>
    static void at_target(Transport& transport) {
        transport.post_exposure();
        transport.wait_exposure();
    }
    template <typename Transport>
    static void expose(Transport&) {}
    template <typename Transport>
    static void collect(Transport&) {}
};

template <typename Transport, typename Operation, typename Completion, bool windowed>
struct OneSided : Exchange<Transport> {
    static constexpr bool origin_sends = Operation::origin_sends;
    static constexpr bool target_sends = Operation::target_sends;
    static constexpr bool target_fills = Operation::target_fills;

    void origin() const {
        Completion::begin(this->transport);
        if constexpr (windowed) {
            for (std::int64_t slot = 0; slot < this->window; ++slot) Operation::start(*this, slot);
        } else {
            Operation::start(*this, 0);
        }
        Completion::end(this->transport, this->peer);
    }
    void target() const { Completion::at_target(this->transport); }
    void expose() const { Completion::expose(this->transport); }
    void collect() const { Completion::collect(this->transport); }
};

}  // namespace fabricgauge
