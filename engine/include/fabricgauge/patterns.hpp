// What origin and target do in one operation of each pattern.
//
// A pattern is a template over the transport; its two functions are the whole of the timed code.
// To add one: a class here, a name in case_list, a row in `with_pattern`.
#pragma once

#include <cstdint>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/messages.hpp"

namespace fabricgauge {

// What the parts of a pattern have in common: who talks to whom about what.
template <typename Transport>
struct Exchange {
    Transport& transport;
    Slots slots;
    std::int64_t bytes;
    std::int64_t window;
    int peer;
};

template <typename Transport>
struct Latency : Exchange<Transport> {
    static constexpr std::int64_t one_way_trips = 2;  // a sample is half of it
    static constexpr bool target_sends = true;
    static constexpr bool target_receives = true;
    static constexpr Author reply_author = Author::origin;  // when data are checked

    void origin() const {
        this->transport.send(this->slots.outgoing(0), this->bytes, this->peer);
        this->transport.receive(this->slots.incoming(0), this->bytes, this->peer);
    }
    void target() const {
        this->transport.receive(this->slots.incoming(0), this->bytes, this->peer);
        this->transport.send(this->slots.reply, this->bytes, this->peer);
    }
};

template <typename Transport>
struct Bandwidth : Exchange<Transport> {
    static constexpr std::int64_t one_way_trips = 1;
    static constexpr bool target_sends = false;
    static constexpr bool target_receives = true;
    static constexpr Author reply_author = Author::target;

    void origin() const {
        for (std::int64_t slot = 0; slot < this->window; ++slot)
            this->transport.start_send(slot, this->slots.outgoing(slot), this->bytes, this->peer);
        this->transport.wait_all(this->window);
        this->transport.receive(nullptr, 0, this->peer);
    }
    void target() const {
        for (std::int64_t slot = 0; slot < this->window; ++slot)
            this->transport.start_receive(slot, this->slots.incoming(slot), this->bytes,
                                          this->peer);
        this->transport.wait_all(this->window);
        this->transport.send(nullptr, 0, this->peer);
    }
};

template <typename Transport>
struct BidirectionalBandwidth : Exchange<Transport> {
    static constexpr std::int64_t one_way_trips = 1;
    static constexpr bool target_sends = true;
    static constexpr bool target_receives = true;
    static constexpr Author reply_author = Author::target;

    void origin() const {
        both_directions();
        this->transport.receive(nullptr, 0, this->peer);
    }
    void target() const {
        both_directions();
        this->transport.send(nullptr, 0, this->peer);
    }

private:
    void both_directions() const {
        for (std::int64_t slot = 0; slot < this->window; ++slot)
            this->transport.start_receive(slot, this->slots.incoming(slot), this->bytes,
                                          this->peer);
        for (std::int64_t slot = 0; slot < this->window; ++slot)
            this->transport.start_send(this->window + slot, this->slots.outgoing(slot),
                                       this->bytes, this->peer);
        this->transport.wait_all(2 * this->window);
    }
};

// The target of one-sided operations has nothing to do; it waits for the next round inside the
// message layer, which lets the layer make progress where that is needed.
template <typename Transport>
struct PutBandwidth : Exchange<Transport> {
    static constexpr std::int64_t one_way_trips = 1;
    static constexpr bool target_sends = false;
    static constexpr bool target_receives = true;
    static constexpr Author reply_author = Author::target;

    void origin() const {
        for (std::int64_t slot = 0; slot < this->window; ++slot)
            this->transport.put(this->slots.outgoing(slot), this->bytes, this->peer,
                                slot * this->bytes);
        this->transport.flush(this->peer);
    }
    void target() const {}
};

template <typename Transport>
struct PutLatency : Exchange<Transport> {
    static constexpr std::int64_t one_way_trips = 1;
    static constexpr bool target_sends = false;
    static constexpr bool target_receives = true;
    static constexpr Author reply_author = Author::target;

    void origin() const {
        this->transport.put(this->slots.outgoing(0), this->bytes, this->peer, 0);
        this->transport.flush(this->peer);
    }
    void target() const {}
};

// Calls `action` with the pattern that the case names.
template <typename Transport, typename Action>
void with_pattern(Pattern pattern, const Exchange<Transport>& exchange, Action&& action) {
    switch (pattern) {
        case Pattern::latency: return action(Latency<Transport>{exchange});
        case Pattern::bandwidth: return action(Bandwidth<Transport>{exchange});
        case Pattern::bidirectional_bandwidth:
            return action(BidirectionalBandwidth<Transport>{exchange});
        case Pattern::put_latency: return action(PutLatency<Transport>{exchange});
        case Pattern::put_bandwidth: return action(PutBandwidth<Transport>{exchange});
    }
}

}  // namespace fabricgauge
