// Ranks in one process, a thread each, with times of their own: what a message takes is said, and
// each rank's clock has an offset and a rate, so that what is measured is known beforehand.
//
// A rank's time goes on only by what it does. A message carries the time at which it arrives, and
// who receives it is then at least as late; as every receive names its sender, runs are repeatable.
#pragma once

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "fabricgauge/collective_memory.hpp"

namespace virtual_ranks {

using Bytes = std::vector<std::byte>;

struct Message {
    Bytes data;
    double arrives_ns;
};

enum class Kind { data, control, internal };

// Messages on their way.
class Post {
public:
    void push(int from, int to, Kind kind, Message message) {
        const std::lock_guard lock(mutex_);
        queues_[{from, to, kind}].push_back(std::move(message));
        arrived_.notify_all();
    }
    Message pop(int from, int to, Kind kind) {
        std::unique_lock lock(mutex_);
        auto& queue = queues_[{from, to, kind}];
        arrived_.wait(lock, [&] { return !queue.empty(); });
        Message message = std::move(queue.front());
        queue.pop_front();
        return message;
    }

private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::map<std::tuple<int, int, Kind>, std::deque<Message>> queues_;
};

// What all ranks share.
struct Cluster {
    explicit Cluster(int number_of_ranks) : ranks(number_of_ranks) {}

    int ranks;
    // One way of the n-th message between two ranks.
    std::function<double(int from, int to, std::int64_t bytes, std::int64_t number)> way_ns =
        [](int, int, std::int64_t, std::int64_t) { return 1000.0; };
    std::function<double(int rank)> offset_ns = [](int) { return 0.0; };
    std::function<double(int rank)> rate = [](int) { return 0.0; };
    // What holds a rank up at the n-th moment that it waits for.
    std::function<double(int rank, std::int64_t number)> held_up_ns = [](int, std::int64_t) {
        return 0.0;
    };
    std::function<void(int from, int to, Bytes& data)> damage = [](int, int, Bytes&) {};
    // How much later than others a rank leaves a barrier.
    std::function<double(int rank)> let_out_ns = [](int) { return 0.0; };
    // Whether what was started goes on while a rank computes.
    bool progresses = true;
    std::unique_ptr<Post> post = std::make_unique<Post>();
};

class Collectives;  // see virtual_collectives.hpp

// The message layer and the time of one rank.
class Rank {
public:
    Rank(Cluster& cluster, int number) : cluster_(cluster), number_(number) {}

    int rank() const { return number_; }
    int ranks() const { return cluster_.ranks; }

    void send(const std::byte* data, std::int64_t bytes, int peer) {
        push(Kind::data, peer, Bytes(data, data + bytes));
    }
    void receive(std::byte* data, std::int64_t bytes, int peer) {
        copy(pop(Kind::data, peer), data, bytes);
    }
    void send_control(const void* data, std::int64_t bytes, int peer) {
        const auto* const begin = static_cast<const std::byte*>(data);
        push(Kind::control, peer, Bytes(begin, begin + bytes));
    }
    void receive_control(void* data, std::int64_t bytes, int peer) {
        copy(pop(Kind::control, peer), static_cast<std::byte*>(data), bytes);
    }

    void broadcast_in_communicator(void* data, std::int64_t bytes) {
        auto* const begin = static_cast<std::byte*>(data);
        if (number_ == 0)
            for (int peer = 1; peer < ranks(); ++peer)
                push(Kind::internal, peer, Bytes(begin, begin + bytes));
        else
            copy(pop(Kind::internal, 0), begin, bytes);
    }
    void minimum_in_communicator(std::int64_t* values, std::int64_t count) {
        const auto* const begin = reinterpret_cast<const std::byte*>(values);
        for (const Bytes& other : all_of(Bytes(begin, begin + 8 * count)))
            for (std::int64_t i = 0; i < count; ++i) {
                std::int64_t value = 0;
                std::memcpy(&value, other.data() + 8 * i, sizeof value);
                values[i] = std::min(values[i], value);
            }
    }
    std::vector<std::string> gather_in_communicator(const std::string& text) {
        const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
        std::vector<std::string> texts;
        for (const Bytes& each : all_of(Bytes(begin, begin + text.size())))
            texts.emplace_back(reinterpret_cast<const char*>(each.data()), each.size());
        if (number_ != 0) texts.clear();
        return texts;
    }
    Collectives collectives(const fabricgauge::CollectiveMemory& memory);

    // Everybody's data, in the order of ranks.
    std::vector<Bytes> all_of(const Bytes& own) {
        push_to_all(own);
        return pop_from_all(own);
    }
    void push_to_all(const Bytes& own) {
        for (int peer = 0; peer < ranks(); ++peer)
            if (peer != number_) push(Kind::internal, peer, own);
    }
    std::vector<Bytes> pop_from_all(const Bytes& own) {
        std::vector<Bytes> all;
        for (int peer = 0; peer < ranks(); ++peer)
            all.push_back(peer == number_ ? own : pop(Kind::internal, peer));
        return all;
    }

    Cluster& cluster() { return cluster_; }
    double true_ns() const { return true_ns_; }
    void pass_ns(double time_ns) { true_ns_ += time_ns; }
    void wait_true_ns(double until_ns) {
        true_ns_ = std::max(true_ns_, until_ns) + cluster_.held_up_ns(number_, waits_++);
    }
    double own_ns() const {
        return true_ns_ * (1.0 + cluster_.rate(number_)) + cluster_.offset_ns(number_);
    }
    double true_at(double own_ns) const {
        return (own_ns - cluster_.offset_ns(number_)) / (1.0 + cluster_.rate(number_));
    }

private:
    static void copy(const Bytes& from, std::byte* to, std::int64_t bytes) {
        if (bytes > 0) std::memcpy(to, from.data(), std::min<std::size_t>(bytes, from.size()));
    }
    void push(Kind kind, int peer, Bytes data) {
        const auto bytes = static_cast<std::int64_t>(data.size());
        if (kind == Kind::internal) cluster_.damage(number_, peer, data);
        const double arrives =
            true_ns_ + cluster_.way_ns(number_, peer, bytes, numbers_[peer]++);
        cluster_.post->push(number_, peer, kind, {std::move(data), arrives});
    }
    Bytes pop(Kind kind, int peer) {
        Message message = cluster_.post->pop(peer, number_, kind);
        true_ns_ = std::max(true_ns_, message.arrives_ns);
        return std::move(message.data);
    }

    Cluster& cluster_;
    int number_;
    double true_ns_ = 0.0;
    std::int64_t waits_ = 0;
    std::map<int, std::int64_t> numbers_;
};

// A rank's own clock; reading it takes 20 ns.
struct Clock {
    Rank& rank;
    std::int64_t now_ns() const {
        rank.pass_ns(20.0);
        return std::llround(rank.own_ns());
    }
    void sleep_until_ns(std::int64_t due_ns) const {
        rank.wait_true_ns(rank.true_at(static_cast<double>(due_ns)));
    }
};

// Runs `body` as every rank at once.
template <typename Body>
void as_every_rank(Cluster& cluster, Body&& body) {
    std::vector<std::thread> threads;
    for (int number = 0; number < cluster.ranks; ++number)
        threads.emplace_back([&cluster, &body, number] {
            Rank rank(cluster, number);
            body(rank);
        });
    for (std::thread& thread : threads) thread.join();
}

}  // namespace virtual_ranks
