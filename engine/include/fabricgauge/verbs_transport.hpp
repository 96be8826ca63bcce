// The message layer over verbs: data of a pair go through queue pairs of their own, which each case
// makes anew.
//
// Ordinary messages are sends and receives, a put is an RDMA write, a get an RDMA read. A latency by
// messages is half of the round trip; of a one-sided operation it is the time until its completion.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/json.hpp"
#include "fabricgauge/pair_transport.hpp"
#include "fabricgauge/verbs_pair.hpp"

namespace fabricgauge {

// Empty if verbs can do the case; else why not.
std::string beyond_verbs(const Case& measured, const VerbsLimits& limits,
                         const VerbsOptions& options = {});

// The messages that each operation of the case brings to this side.
Arrivals arrivals_of(const Case& measured, const Slots& slots, bool at_origin);
// The share of these messages on the n-th of `spread` queue pairs; the first has the
// acknowledgement.
Arrivals share_of(const Arrivals& arrivals, std::int64_t n, std::int64_t spread);

// Readings of one thing: their median, and the least and the most of them.
struct Readings {
    double median_s = 0.0;
    double least_s = 0.0;
    double most_s = 0.0;
};

Readings readings_of(std::vector<double> times_s);

// One rank's cost to make a case's queue pairs. `resident_bytes` is the growth of the process,
// without memory of kernel and adapter. The memory was registered and released `registrations`
// times.
struct VerbsCosts {
    double create_s = 0.0;
    double connect_s = 0.0;
    std::int64_t resident_bytes = 0;
    std::int64_t registered_bytes = 0;
    int registrations = 0;
    Readings registering;
    Readings releasing;

    std::string json(int rank, int queue_pairs) const;
};

// The resident memory of this process.
std::int64_t resident_bytes();

template <typename Control>
class VerbsTransport : public PairTransport<Control> {
public:
    // Collective. Control gets the remaining arguments.
    template <typename... Rest>
    explicit VerbsTransport(const VerbsDevice& device, Rest&... rest)
        : PairTransport<Control>(rest...), device_(device), limits_(this->least_of_all(device.limits())) {}

    std::string beyond(const Case& measured) const { 
        return beyond_verbs(measured, limits_, device_.options());
    }

    // Collective; JSON at rank 0.
    std::string description() {
        const VerbsOptions& options = device_.options();
        JsonWriter json;
        json.begin_object().member("name", "verbs").member("library", device_.verbs().path);
        json.member("queue_pair", name_of(options.queue_pair));
        json.member("messages_by", name_of(options.messages_by));
        json.member("shared_receives", options.shared_receives);
        json.member("path_mtu_bytes", limits_.path_mtu_bytes);
        json.member("inline_bytes", limits_.inline_bytes);
        json.member("signal_interval", options.signal_interval);
        json.member("traffic_class", options.traffic_class);
        json.member("service_level", options.service_level).key("ports").begin_array();
        for (const std::string& port : this->gather(device_.description(this->rank()))) json.raw(port);
        json.end_array().end_object();
        return json.text();
    }

    // Called by the two ranks of the case.
    void open_pair(const Case& measured, Messages& messages) {
        if (device_.options().messages_by == MessagesBy::write && !is_one_sided(measured.pattern))
            messages.leave_out_last(VerbsPair::count_bytes);
        const int peer = this->peer_in(measured);
        const Buffer& memory = this->memory_of(messages);
        is_passive_ = is_one_sided(measured.pattern) && !this->at_origin(measured);
        spread_ = has_window(measured.pattern) ? queue_pairs() : 1;
        costs_ = {};
        time_registration(memory);
        memory_ = VerbsMemory(device_, memory.data(), memory.bytes());
        const std::int64_t resident = resident_bytes();
        const Arrivals arrivals = arrivals_of(measured, messages.slots(), this->at_origin(measured));
        costs_.create_s = time_of([&] { create(window_slots(measured), arrivals, peer); });
        costs_.resident_bytes = resident_bytes() - resident;
        const std::vector<VerbsAddress> others = exchange(memory, peer);
        costs_.connect_s = time_of([&] {
            for (std::size_t i = 0; i < pairs_.size(); ++i) pairs_[i]->connect(others[i]);
        });
    }
    // Returns the cost of all connections, as JSON.
    std::string close_pair() {
        pairs_.clear();
        shared_.reset();
        memory_ = VerbsMemory();
        return costs_.json(this->rank(), static_cast<int>(queue_pairs()));
    }

    // Reads and writes of peers here are no work of this side. A device in software does them with
    // the processor, which must be free: a control layer that waits busily took it for whole time
    // slices.
    void receive_control(void* data, std::int64_t bytes, int peer) {
        while (is_passive_ && !Control::has_control(peer)) std::this_thread::sleep_for(nap);
        Control::receive_control(data, bytes, peer);
    }

    void send(const std::byte* data, std::int64_t bytes, int) { pairs_.front()->send(data, bytes); }
    void receive(std::byte* data, std::int64_t bytes, int) { pairs_.front()->receive(data, bytes); }
    void start_send(std::int64_t, const std::byte* data, std::int64_t bytes, int) {
        next().stream(data, bytes);
    }
    void start_receive(std::int64_t, std::byte*, std::int64_t, int) { ++started_receives_; }
    void wait_all(std::int64_t) {
        const std::int64_t each = started_receives_ / spread_;
        started_receives_ = 0;
        for (std::int64_t i = 0; i < spread_; ++i) pair(i).await(each);
        for (std::int64_t i = 0; i < spread_; ++i) pair(i).await_streamed();
    }

    void put(const std::byte* data, std::int64_t bytes, int, std::int64_t displacement) {
        next().write(data, bytes, displacement);
    }
    void get(std::byte* data, std::int64_t bytes, int, std::int64_t displacement) {
        next().read(data, bytes, displacement);
    }
    void fetch_and_add(const std::byte* added, std::byte* found, int) {
        next().fetch_and_add(added, found);
    }
    void compare_and_swap(const std::byte* swapped, const std::byte* compared, std::byte* found,
                          int) {
        next().compare_and_swap(swapped, compared, found);
    }
    void flush(int) {
        for (std::int64_t i = 0; i < spread_; ++i) pair(i).await_posted();
    }

private:
    // Short beside a block of samples, between which the target is waited for.
    static constexpr std::chrono::microseconds nap{200};

    template <typename Action>
    static double time_of(Action&& action) {
        const auto began = std::chrono::steady_clock::now();
        action();
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    }

    // As often as gives a median, unless that is long.
    void time_registration(const Buffer& memory) {
        constexpr std::size_t most = 9;
        constexpr double enough_s = 0.5;
        std::vector<double> registering, releasing;
        for (double spent_s = 0.0; registering.size() < most && spent_s < enough_s;) {
            registering.push_back(
                time_of([&] { memory_ = VerbsMemory(device_, memory.data(), memory.bytes()); }));
            releasing.push_back(time_of([&] { memory_ = VerbsMemory(); }));
            spent_s += registering.back() + releasing.back();
        }
        costs_.registered_bytes = memory.bytes();
        costs_.registrations = static_cast<int>(registering.size());
        costs_.registering = readings_of(registering);
        costs_.releasing = readings_of(releasing);
    }

    std::int64_t queue_pairs() const noexcept { return device_.options().queue_pairs; }
    VerbsPair& pair(std::int64_t number) { return *pairs_[static_cast<std::size_t>(number)]; }
    // They take turns, message by message.
    VerbsPair& next() {
        VerbsPair& found = pair(turn_);
        turn_ = turn_ + 1 < spread_ ? turn_ + 1 : 0;
        return found;
    }

    void create(std::int64_t window, const Arrivals& arrivals, int peer) {
        if (device_.options().shared_receives)
            shared_ = share_receives(device_, receives_for(arrivals));
        for (std::int64_t i = 0; i < queue_pairs(); ++i) {
            const Arrivals share = i < spread_ ? share_of(arrivals, i, spread_) : Arrivals{};
            pairs_.push_back(std::make_unique<VerbsPair>(device_, limits_, memory_,
                                                         VerbsPlan{window / spread_, share, shared_.get()},
                                                         peer));
        }
        turn_ = 0;
    }

    std::vector<VerbsAddress> exchange(const Buffer& memory, int peer) {
        std::vector<VerbsAddress> own;
        for (const auto& one : pairs_) {
            own.push_back(one->address());
            own.back().window = reinterpret_cast<std::uint64_t>(memory.data());
            own.back().window_key = memory_.remote_key();
        }
        return this->swap_with(peer, own);
    }

    const VerbsDevice& device_;
    VerbsLimits limits_;
    VerbsMemory memory_;
    SharedReceives shared_{nullptr, nullptr};
    std::vector<std::unique_ptr<VerbsPair>> pairs_;  // end before the memory that they use
    std::int64_t spread_ = 1;                        // how many of them carry the window
    std::int64_t turn_ = 0;
    bool is_passive_ = false;                        // the target of a case of one-sided operations
    std::int64_t started_receives_ = 0;
    VerbsCosts costs_;
};

}  // namespace fabricgauge
