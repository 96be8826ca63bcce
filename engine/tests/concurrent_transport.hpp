// One rank's message layer in a world of concurrent pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "concurrent_traffic.hpp"
#include "concurrent_world.hpp"

namespace concurrent_world {

// `measuring` says which ranks form the group.
class Transport {
public:
    Transport(World& world, int rank, std::function<bool(int)> measuring)
        : world_(world), rank_(rank), measuring_(std::move(measuring)) {}

    int rank() const { return rank_; }
    void reserve(std::int64_t) {}

    void send(const std::byte* data, std::int64_t bytes, int peer) {
        Bytes message(data, data + bytes);
        world_.damage(rank_, peer, message);
        spend();
        world_.sent_bytes[static_cast<std::size_t>(rank_)] += bytes;
        world_.put(rank_, peer, Kind::data, std::move(message));
    }
    void receive(std::byte* data, std::int64_t bytes, int peer) {
        const Bytes message = world_.take(peer, rank_, Kind::data);
        if (bytes > 0) std::memcpy(data, message.data(), message.size());
        spend();
    }
    void send_and_receive(const std::byte* out, int to, std::byte* in, int from,
                          std::int64_t bytes) {
        send(out, bytes, to);
        receive(in, bytes, from);
    }
    void start_send(std::int64_t, const std::byte* data, std::int64_t bytes, int peer) {
        send(data, bytes, peer);
    }
    void start_receive(std::int64_t, std::byte* data, std::int64_t bytes, int peer) {
        pending_.emplace_back(data, bytes, peer);
    }
    void wait_all(std::int64_t) {
        for (const auto& [data, bytes, peer] : pending_) receive(data, bytes, peer);
        pending_.clear();
    }
    void sync_window() {}
    void send_control(const void* data, std::int64_t bytes, int peer) {
        const auto* begin = static_cast<const std::byte*>(data);
        world_.sent_bytes[static_cast<std::size_t>(rank_)] += bytes;
        world_.put(rank_, peer, Kind::control, Bytes(begin, begin + bytes));
    }
    void receive_control(void* data, std::int64_t bytes, int peer) {
        const Bytes message = world_.take(peer, rank_, Kind::control);
        if (bytes > 0) std::memcpy(data, message.data(), message.size());
    }

    Group form_group(bool) {
        std::vector<int> members;
        for (int rank = 0; rank < world_.ranks(); ++rank)
            if (measuring_(rank)) members.push_back(rank);
        return {world_, rank_, members};
    }
    Traffic traffic(int slots) { return {world_, rank_, slots}; }
    void release(int rank) { world_.put(rank_, rank, Kind::release, {}); }
    void await_release(int from) { world_.take(from, rank_, Kind::release); }
    std::vector<std::string> gather_in_communicator(const std::string& text) {
        const auto* begin = reinterpret_cast<const std::byte*>(text.data());
        if (rank_ != 0) world_.put(rank_, 0, Kind::text, Bytes(begin, begin + text.size()));
        std::vector<std::string> texts;
        for (int rank = 0; rank_ == 0 && rank < world_.ranks(); ++rank) {
            const Bytes one = rank == 0 ? Bytes(begin, begin + text.size())
                                        : world_.take(rank, 0, Kind::text);
            texts.emplace_back(reinterpret_cast<const char*>(one.data()), one.size());
        }
        return texts;
    }

private:
    void spend() { world_.now_ns[static_cast<std::size_t>(rank_)] += world_.cost_ns(rank_); }

    World& world_;
    int rank_;
    std::function<bool(int)> measuring_;
    std::vector<std::tuple<std::byte*, std::int64_t, int>> pending_;
};

}  // namespace concurrent_world
