// The requests of concurrent_transport.hpp's load, in numbered slots.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

#include "concurrent_world.hpp"
#include "fabricgauge/load_stream.hpp"

namespace concurrent_world {

class Traffic {
public:
    Traffic(World& world, int rank, int slots)
        : world_(world), rank_(rank), slots_(static_cast<std::size_t>(slots)) {}

    // Like a rendezvous: it has ended once the receiver has the message.
    void send(int slot, const std::byte* data, std::int64_t bytes, int peer) {
        world_.load_bytes[static_cast<std::size_t>(rank_)] += bytes;
        world_.put(rank_, peer, Kind::load, Bytes(data, data + std::min<std::int64_t>(bytes, 8)));
        slots_[static_cast<std::size_t>(slot)] = {State::sending, Kind::load, peer, nullptr, bytes};
    }
    void receive(int slot, std::byte* data, std::int64_t bytes, int peer) {
        start_receive(slot, data, bytes, peer, Kind::load);
    }
    void receive_message(int slot, std::byte* data, std::int64_t bytes, int peer) {
        start_receive(slot, data, bytes, peer, Kind::data);
    }
    void receive_control(int slot, void* data, std::int64_t bytes, int peer) {
        start_receive(slot, static_cast<std::byte*>(data), bytes, peer, Kind::control);
    }
    void receive_release(int slot, int from) {
        start_receive(slot, nullptr, 0, from, Kind::release);
    }
    void notify(int slot, int peer) {
        world_.put(rank_, peer, Kind::release, {});
        slots_[static_cast<std::size_t>(slot)] = {State::sending, Kind::release, peer, nullptr, 0};
    }
    const std::vector<fabricgauge::Arrival>& await_some() {
        arrivals_.clear();
        std::unique_lock lock(world_.mutex);
        world_.changed.wait(lock, [this] { return find_ended(); });
        world_.now_ns[static_cast<std::size_t>(rank_)] += 1000;
        return arrivals_;
    }

private:
    enum class State { none, sending, receiving };
    struct Slot {
        State state = State::none;
        Kind kind = Kind::load;
        int peer = 0;
        std::byte* data = nullptr;
        std::int64_t bytes = 0;
    };

    void start_receive(int slot, std::byte* data, std::int64_t bytes, int peer, Kind kind) {
        slots_[static_cast<std::size_t>(slot)] = {State::receiving, kind, peer, data, bytes};
    }
    bool find_ended() {
        for (std::size_t i = 0; i < slots_.size(); ++i) look_at(static_cast<int>(i), slots_[i]);
        return !arrivals_.empty();
    }
    void look_at(int number, Slot& slot) {
        std::int64_t bytes = 0;
        if (slot.state == State::none) return;
        auto& box = slot.state == State::sending ? world_.boxes[{rank_, slot.peer, slot.kind}]
                                                 : world_.boxes[{slot.peer, rank_, slot.kind}];
        if (slot.state == State::sending && !box.empty()) return;
        if (slot.state == State::receiving) {
            if (box.empty()) return;
            bytes = static_cast<std::int64_t>(box.front().size());
            if (bytes > 0) std::memcpy(slot.data, box.front().data(), box.front().size());
            box.pop_front();
            world_.changed.notify_all();
        }
        slot.state = State::none;
        arrivals_.push_back({number, bytes});
    }

    World& world_;
    int rank_;
    std::vector<Slot> slots_;
    std::vector<fabricgauge::Arrival> arrivals_;
};

}  // namespace concurrent_world
