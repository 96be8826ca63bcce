// The operations of origin and target in each pattern of ordinary messages.
//
// A pattern is a template over the transport; its two functions are the whole of the timed code.
// one_sided.hpp, persistent.hpp and threaded.hpp have the others. To add one: a class, a name in
// pattern.hpp, a row in `with_pattern` or `with_pair_pattern` (pair_patterns.hpp).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/messages.hpp"

namespace fabricgauge {

// The common base of the patterns: transport, peer and messages.
//
// origin_sends and target_sends are true for the side that sends payload in an operation; the other
// side checks the sent payload. A sample is the time of an operation, divided by one_way_trips.
template <typename Transport>
struct Exchange {
    Transport& transport;
    Slots slots;
    std::int64_t bytes;
    std::int64_t window;
    int peer;

    static constexpr bool threaded = false;
    static constexpr std::int64_t one_way_trips = 1;
    static constexpr bool origin_sends = true;
    static constexpr bool target_sends = false;
    // True if the target writes a known content to its memory before a sample that is checked.
    static constexpr bool target_fills = false;
    static constexpr Author reply_author = Author::target;

    // Called once before the first operation and after the last, by each side.
    void open_as_origin() const {}
    void open_as_target() const {}
    void close() const {}
    // Around a sample that is checked: both sides before it, the target after it.
    void expose() const {}
    void collect() const {}
};

template <typename Transport>
struct Latency : Exchange<Transport> {
    static constexpr std::int64_t one_way_trips = 2;  // a sample is half of it
    static constexpr bool target_sends = true;
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
    static constexpr bool target_sends = true;
    static constexpr bool target_fills = true;

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

// Both send before they receive, so that the messages pass each other on the way.
template <typename Transport>
struct PingPing : Exchange<Transport> {
    static constexpr bool target_sends = true;
    static constexpr bool target_fills = true;

    void origin() const { pass(); }
    void target() const { pass(); }

private:
    void pass() const {
        this->transport.start_send(0, this->slots.outgoing(0), this->bytes, this->peer);
        this->transport.receive(this->slots.incoming(0), this->bytes, this->peer);
        this->transport.wait_all(1);
    }
};

// Calls `action` with the pattern of that name, if it is one of those above.
template <typename Transport, typename Action>
void with_pattern(Pattern pattern, const Exchange<Transport>& exchange, Action&& action) {
    switch (pattern) {
        case Pattern::latency: return action(Latency<Transport>{exchange});
        case Pattern::bandwidth: return action(Bandwidth<Transport>{exchange});
        case Pattern::bidirectional_bandwidth:
            return action(BidirectionalBandwidth<Transport>{exchange});
        case Pattern::ping_ping: return action(PingPing<Transport>{exchange});
        default: throw std::logic_error(std::string(name_of(pattern)) + " is none of these");
    }
}

}  // namespace fabricgauge
