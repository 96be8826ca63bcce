// A message layer inside one process, for two threads, with a clock that stands still but for what
// a message is said to cost: what the core measures through it is known beforehand.
#pragma once

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

// What both ranks share. cost_ns says what the n-th data message takes; damage may change it.
struct Wire {
    Queue data[2];
    Queue control[2];
    Bytes window;
    std::atomic<std::int64_t> now_ns{0};
    std::atomic<std::int64_t> messages{0};
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

class Transport {
public:
    Transport(Wire& wire, int rank) : wire_(wire), rank_(rank) {}

    int rank() const { return rank_; }

    void send(const std::byte* data, std::int64_t bytes, int) {
        Bytes message(data, data + bytes);
        wire_.pass(rank_, message.data(), bytes);
        wire_.data[1 - rank_].push(std::move(message));
    }
    void receive(std::byte* data, std::int64_t bytes, int) {
        const Bytes message = wire_.data[rank_].pop();
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
    void put(const std::byte* data, std::int64_t bytes, int, std::int64_t displacement) {
        Bytes message(data, data + bytes);
        wire_.pass(rank_, message.data(), bytes);
        if (bytes > 0) std::memcpy(wire_.window.data() + displacement, message.data(), message.size());
    }
    void flush(int) {}
    void sync_window() {}
    void send_control(const void* data, std::int64_t bytes, int) {
        const auto* begin = static_cast<const std::byte*>(data);
        wire_.payload_bytes[rank_] += bytes;
        wire_.control[1 - rank_].push(Bytes(begin, begin + bytes));
    }
    void receive_control(void* data, std::int64_t bytes, int) {
        const Bytes message = wire_.control[rank_].pop();
        if (bytes > 0) std::memcpy(data, message.data(), message.size());
    }

private:
    Wire& wire_;
    int rank_;
    std::vector<std::pair<std::byte*, std::int64_t>> pending_;
};

}  // namespace loopback
