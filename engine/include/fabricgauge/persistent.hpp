// The operations of origin and target with persistent requests: they are created once, and each
// sample only starts them and waits.
#pragma once

#include <cstdint>

#include "fabricgauge/patterns.hpp"

namespace fabricgauge {

// The receive is started when the send has ended, since both may use one buffer.
template <typename Transport>
struct PersistentLatency : Exchange<Transport> {
    static constexpr std::int64_t one_way_trips = 2;
    static constexpr bool target_sends = true;
    static constexpr Author reply_author = Author::origin;

    void open_as_origin() const {
        this->transport.make_send(sending, this->slots.outgoing(0), this->bytes, this->peer);
        this->transport.make_receive(receiving, this->slots.incoming(0), this->bytes, this->peer);
    }
    void open_as_target() const {
        this->transport.make_send(sending, this->slots.reply, this->bytes, this->peer);
        this->transport.make_receive(receiving, this->slots.incoming(0), this->bytes, this->peer);
    }
    void close() const { this->transport.discard(2); }

    void origin() const {
        make(sending);
        make(receiving);
    }
    void target() const {
        make(receiving);
        make(sending);
    }

private:
    static constexpr std::int64_t sending = 0;
    static constexpr std::int64_t receiving = 1;

    void make(std::int64_t slot) const {
        this->transport.start(slot);
        this->transport.wait(slot);
    }
};

template <typename Transport>
struct PersistentBandwidth : Exchange<Transport> {
    void open_as_origin() const {
        for (std::int64_t slot = 0; slot < this->window; ++slot)
            this->transport.make_send(slot, this->slots.outgoing(slot), this->bytes, this->peer);
    }
    void open_as_target() const {
        for (std::int64_t slot = 0; slot < this->window; ++slot)
            this->transport.make_receive(slot, this->slots.incoming(slot), this->bytes, this->peer);
    }
    void close() const { this->transport.discard(this->window); }

    void origin() const {
        this->transport.start_all(this->window);
        this->transport.wait_all(this->window);
        this->transport.receive(nullptr, 0, this->peer);
    }
    void target() const {
        this->transport.start_all(this->window);
        this->transport.wait_all(this->window);
        this->transport.send(nullptr, 0, this->peer);
    }
};

}  // namespace fabricgauge
