// A message layer inside one process, for two threads, with a clock that stands still but for what
// a message is said to cost: what the core measures through it is known beforehand.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace loopback {

using Bytes = std::vector<std::byte>;

// Messages in one direction, in order.
class Queue {
public:
    void push(Bytes message) {
        {
            const std::lock_guard lock(mutex_);
            waiting_.push_back(std::move(message));
        }
        arrived_.notify_one();
    }
    bool empty() {
        const std::lock_guard lock(mutex_);
        return waiting_.empty();
    }
    Bytes pop() {
        std::unique_lock lock(mutex_);
        arrived_.wait(lock, [this] { return !waiting_.empty(); });
        Bytes message = std::move(waiting_.front());
        waiting_.pop_front();
        return message;
    }

private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::deque<Bytes> waiting_;
};

constexpr int most_channels = 4;

// What both ranks share. Messages of the threads have a queue for each; tokens are what the calls
// of both sides around one-sided operations wait for. cost_ns says what the n-th data message takes; damage may change it.
struct Wire {
    Queue data[2];
    Queue channels[most_channels][2];
    Queue control[2];
    Queue tokens[2];
    Bytes window;
    std::atomic<std::int64_t> now_ns{0};
    std::atomic<std::int64_t> messages{0};
    std::atomic<std::int64_t> controls{0};
    std::atomic<std::int64_t> payload_bytes[2] = {{0}, {0}};
    std::function<std::int64_t(std::int64_t)> cost_ns = [](std::int64_t) { return 1000; };
    std::function<void(std::int64_t, std::byte*, std::int64_t)> damage =
        [](std::int64_t, std::byte*, std::int64_t) {};

    void pass(int from, std::byte* data, std::int64_t bytes) {
        const std::int64_t number = messages++;
        damage(number, data, bytes);
        now_ns += cost_ns(number);
        payload_bytes[from] += bytes;
    }
};

struct WireClock {
    const Wire& wire;
    std::int64_t now_ns() const { return wire.now_ns; }
};

// Ordinary messages from rank to rank through two queues.
class Channel {
public:
    Channel(Wire& wire, Queue* queues, int rank) : wire_(wire), queues_(queues), rank_(rank) {}

    void send(const std::byte* data, std::int64_t bytes, int) {
        Bytes message(data, data + bytes);
        wire_.pass(rank_, message.data(), bytes);
        queues_[1 - rank_].push(std::move(message));
    }
    void receive(std::byte* data, std::int64_t bytes, int) {
        const Bytes message = queues_[rank_].pop();
        if (bytes > 0) std::memcpy(data, message.data(), message.size());
    }
    void start_send(std::int64_t, const std::byte* data, std::int64_t bytes, int peer) {
        send(data, bytes, peer);
    }
    void start_receive(std::int64_t, std::byte* data, std::int64_t bytes, int) {
        pending_.emplace_back(data, bytes);
    }
    void wait_all(std::int64_t) {
        for (const auto& [data, bytes] : pending_) receive(data, bytes, 0);
        pending_.clear();
    }

protected:
    Wire& wire_;
    Queue* queues_;
    int rank_;

private:
    std::vector<std::pair<std::byte*, std::int64_t>> pending_;
};

class Transport : public Channel {
public:
    using Channel = loopback::Channel;

    Transport(Wire& wire, int rank) : Channel(wire, wire.data, rank) {}

    int rank() const { return rank_; }
    Channel channel(int number, std::int64_t) { return {wire_, wire_.channels[number], rank_}; }

    void make_send(std::int64_t slot, const std::byte* data, std::int64_t bytes, int) {
        make(slot, [this, data, bytes] { send(data, bytes, 0); });
    }
    void make_receive(std::int64_t slot, std::byte* data, std::int64_t bytes, int) {
        make(slot, [this, data, bytes] { start_receive(0, data, bytes, 0); });
    }
    void start(std::int64_t slot) { made_[static_cast<std::size_t>(slot)](); }
    void start_all(std::int64_t slots) {
        for (std::int64_t slot = 0; slot < slots; ++slot) start(slot);
    }
    void wait(std::int64_t slot) { wait_all(slot); }
    void discard(std::int64_t) { made_.clear(); }

    void put(const std::byte* data, std::int64_t bytes, int, std::int64_t displacement) {
        Bytes message(data, data + bytes);
        wire_.pass(rank_, message.data(), bytes);
        if (bytes > 0) std::memcpy(at(displacement), message.data(), message.size());
    }
    void get(std::byte* data, std::int64_t bytes, int, std::int64_t displacement) {
        Bytes message(at(displacement), at(displacement) + bytes);
        wire_.pass(1 - rank_, message.data(), bytes);
        if (bytes > 0) std::memcpy(data, message.data(), message.size());
    }
    void accumulate(const std::byte* data, std::int64_t bytes, int, std::int64_t displacement) {
        Bytes message(data, data + bytes);
        wire_.pass(rank_, message.data(), bytes);
        for (std::int64_t i = 0; i < bytes; i += 8)
            store(displacement + i, word(at(displacement + i)) + word(message.data() + i));
    }
    void fetch_and_add(const std::byte* added, std::byte* found, int peer) {
        get(found, 8, peer, 0);
        accumulate(added, 8, peer, 0);
    }
    void compare_and_swap(const std::byte* swapped, const std::byte* compared, std::byte* found,
                          int peer) {
        const bool equal = word(at(0)) == word(compared);
        get(found, 8, peer, 0);
        if (equal) put(swapped, 8, peer, 0);
    }
    void flush(int) {}
    void sync_window() {}
    void fence() {
        wire_.tokens[1 - rank_].push({});
        wire_.tokens[rank_].pop();
    }
    void start_access() { wire_.tokens[rank_].pop(); }
    void complete_access() { wire_.tokens[1 - rank_].push({}); }
    void post_exposure() { wire_.tokens[1 - rank_].push({}); }
    void wait_exposure() { wire_.tokens[rank_].pop(); }

    void send_control(const void* data, std::int64_t bytes, int) {
        ++wire_.controls;
        const auto* begin = static_cast<const std::byte*>(data);
        wire_.payload_bytes[rank_] += bytes;
        wire_.control[1 - rank_].push(Bytes(begin, begin + bytes));
    }
    bool has_control(int) { return !wire_.control[rank_].empty(); }
    void receive_control(void* data, std::int64_t bytes, int) {
        const Bytes message = wire_.control[rank_].pop();
        if (bytes > 0) std::memcpy(data, message.data(), message.size());
    }

private:
    void make(std::int64_t slot, std::function<void()> operation) {
        made_.resize(std::max(made_.size(), static_cast<std::size_t>(slot) + 1));
        made_[static_cast<std::size_t>(slot)] = std::move(operation);
    }
    std::byte* at(std::int64_t displacement) { return wire_.window.data() + displacement; }
    void store(std::int64_t displacement, std::uint64_t value) {
        std::memcpy(at(displacement), &value, sizeof value);
    }
    static std::uint64_t word(const std::byte* data) {
        std::uint64_t value;
        std::memcpy(&value, data, sizeof value);
        return value;
    }

    std::vector<std::function<void()>> made_;
};

}  // namespace loopback
