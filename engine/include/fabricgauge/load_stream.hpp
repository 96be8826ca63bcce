// The continuous messages of one loading rank until it closes.
//
// A template over the traffic of a message layer: requests in numbered slots. The traffic hands out
// the slots whose requests have ended. It has
//
//   void send(int slot, const std::byte* data, std::int64_t bytes, int peer)
//   void receive(int slot, std::byte* data, std::int64_t bytes, int peer)
//   const std::vector<Arrival>& await_some()          at least one, unless nothing is pending
//
// and, for other requests that a rank may wait for at the same time,
//
//   void receive_message(int slot, std::byte* data, std::int64_t bytes, int peer)
//   void receive_control(int slot, void* data, std::int64_t bytes, int peer)
//   void receive_release(int slot, int from)
//   void notify(int slot, int peer)                   who awaits a release of this rank
//
// An empty message ends each entry of a route, at both ends. So every message that is sent is
// received, no rank waits for a message that was not sent, and every rank may close when it likes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "fabricgauge/load_route.hpp"
#include "fabricgauge/messages.hpp"
#include "fabricgauge/together.hpp"

namespace fabricgauge {

// A request that has ended: a send, or the receive of a message with `bytes` bytes.
struct Arrival {
    int slot;
    std::int64_t bytes;
};

// Receives that one rank has pending at most, each with its own memory.
constexpr std::size_t most_load_receives = 16;

std::int64_t load_memory_bytes(const LoadRoute& route) noexcept;

template <typename Traffic>
class LoadStream {
public:
    LoadStream(LoadRoute route, std::int64_t in_flight, const Communicator& communicator)
        : route_(std::move(route)), communicator_(communicator),
          sends_(std::min(route_.targets.size(), static_cast<std::size_t>(in_flight))),
          receives_(std::min(route_.sources.size(), most_load_receives)),
          memory_(load_memory_bytes(route_)), sending_(sends_),
          channel_of_(receives_, no_channel), channels_(route_.sources.size(), Channel::free),
          channels_left_(channels_.size()) {}

    // The slots are 0 … slots()-1; a rank may use those from there on for other things.
    int slots() const noexcept { return static_cast<int>(sends_ + receives_); }

    void start(Traffic& traffic) {
        for (std::size_t i = 0; i < receives_; ++i) receive_next(traffic, i);
        for (std::size_t i = 0; i < sends_; ++i) send_next(traffic, i);
    }

    void take(Traffic& traffic, const Arrival& arrival) {
        const auto slot = static_cast<std::size_t>(arrival.slot);
        if (slot < sends_)
            sent(traffic, slot);
        else
            received(traffic, slot - sends_, arrival.bytes);
    }

    // After this only the empty messages are sent, one for each entry of the route.
    void close() noexcept {
        closing_ = true;
        to_close_ = route_.targets.size();
    }

    // True only after close(), if the rank sends.
    bool finished() const noexcept {
        return (closing_ || sends_ == 0) && to_close_ == 0 && sends_pending_ == 0 &&
               channels_left_ == 0;
    }

    // The bytes that have left.
    std::int64_t bytes_sent() const noexcept { return bytes_sent_; }
    // The part of these bytes that went to other nodes.
    std::int64_t bytes_abroad() const noexcept { return bytes_abroad_; }

private:
    enum class Channel { free, pending, ended };
    struct Sending {
        int peer;
        std::int64_t bytes;
    };
    static constexpr std::size_t no_channel = static_cast<std::size_t>(-1);

    void send_next(Traffic& traffic, std::size_t slot) {
        if (closing_ && to_close_ == 0) return;
        if (closing_) --to_close_;
        sending_[slot] = {route_.targets[next_target_], closing_ ? 0 : load_message_bytes};
        next_target_ = (next_target_ + 1) % route_.targets.size();
        ++sends_pending_;
        traffic.send(static_cast<int>(slot), memory_.data(), sending_[slot].bytes,
                      sending_[slot].peer);
    }

    void sent(Traffic& traffic, std::size_t slot) {
        --sends_pending_;
        bytes_sent_ += sending_[slot].bytes;
        if (!communicator_.same_node(sending_[slot].peer)) bytes_abroad_ += sending_[slot].bytes;
        send_next(traffic, slot);
    }

    void received(Traffic& traffic, std::size_t receive, std::int64_t bytes) {
        Channel& channel = channels_[channel_of_[receive]];
        channel = bytes == 0 ? Channel::ended : Channel::free;
        if (bytes == 0) --channels_left_;
        channel_of_[receive] = no_channel;
        // One that ended late may have kept others waiting for its turn.
        for (std::size_t i = 0; i < receives_; ++i)
            if (channel_of_[i] == no_channel) receive_next(traffic, i);
    }

    // The turns keep their order, but where every channel has a receive of its own none needs to.
    void receive_next(Traffic& traffic, std::size_t receive) {
        if (channels_left_ == 0) return;
        const bool own_turn = receives_ == channels_.size();
        if (!own_turn)
            while (channels_[next_channel_] == Channel::ended)
                next_channel_ = (next_channel_ + 1) % channels_.size();
        const std::size_t channel = own_turn ? receive : next_channel_;
        if (channels_[channel] != Channel::free) return;
        if (!own_turn) next_channel_ = (next_channel_ + 1) % channels_.size();
        channels_[channel] = Channel::pending;
        channel_of_[receive] = channel;
        std::byte* const data =
            memory_.data() + static_cast<std::int64_t>(receive + 1) * load_message_bytes;
        traffic.receive(static_cast<int>(sends_ + receive), data, load_message_bytes,
                         route_.sources[channel]);
    }

    LoadRoute route_;
    const Communicator& communicator_;
    std::size_t sends_;
    std::size_t receives_;
    Buffer memory_;  // the sent messages, then the received ones
    std::vector<Sending> sending_;
    std::vector<std::size_t> channel_of_;
    std::vector<Channel> channels_;
    std::size_t channels_left_;
    std::size_t next_channel_ = 0;
    std::size_t next_target_ = 0;
    std::size_t to_close_ = 0;
    std::size_t sends_pending_ = 0;
    bool closing_ = false;
    std::int64_t bytes_sent_ = 0;
    std::int64_t bytes_abroad_ = 0;
};

}  // namespace fabricgauge
