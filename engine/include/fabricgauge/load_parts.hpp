// The ranks that make load, and the victim that an incast is sent to.
//
// A loading rank reports to rank 0 when its first message has left, and the measurement begins
// after all reports; rank 0 notifies the loading ranks of its end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabricgauge/load_stream.hpp"
#include "fabricgauge/together.hpp"

namespace fabricgauge {

// The load that a rank sent: `bytes_per_s` from its first message to the end of the measurement,
// `bytes_abroad` in total.
struct LoadResult {
    double bytes_per_s = 0.0;
    std::int64_t bytes_abroad = 0;
};

template <typename Traffic, typename Clock>
class LoadingRank {
public:
    LoadingRank(Traffic& traffic, const Clock& clock, LoadStream<Traffic>& stream)
        : traffic_(traffic), clock_(clock), stream_(stream), release_slot_(stream.slots()),
          notice_slot_(stream.slots() + 1) {}

    static constexpr int further_slots = 2;

    LoadResult run() {
        traffic_.receive_release(release_slot_, 0);
        stream_.start(traffic_);
        while (!stream_.finished() || !released_ || !noticed_)
            for (const Arrival& arrival : traffic_.await_some()) take(arrival);
        const double lasted_s = static_cast<double>(ended_ns_ - began_ns_) * 1e-9;
        const auto bytes = static_cast<double>(bytes_at_end_ - bytes_at_begin_);
        return {lasted_s > 0.0 ? bytes / lasted_s : 0.0, stream_.bytes_abroad()};
    }

private:
    void take(const Arrival& arrival) {
        if (arrival.slot == release_slot_) return end();
        if (arrival.slot == notice_slot_) {
            noticed_ = true;
            return;
        }
        stream_.take(traffic_, arrival);
        if (!began_ && stream_.bytes_sent() > 0) begin();
    }

    void begin() {
        began_ = true;
        traffic_.notify(notice_slot_, 0);
        began_ns_ = clock_.now_ns();
        bytes_at_begin_ = stream_.bytes_sent();
    }

    void end() {
        released_ = true;
        ended_ns_ = clock_.now_ns();
        bytes_at_end_ = stream_.bytes_sent();
        stream_.close();
    }

    Traffic& traffic_;
    const Clock& clock_;
    LoadStream<Traffic>& stream_;
    int release_slot_;
    int notice_slot_;
    bool began_ = false;
    bool noticed_ = false;
    bool released_ = false;
    std::int64_t began_ns_ = 0;
    std::int64_t ended_ns_ = 0;
    std::int64_t bytes_at_begin_ = 0;
    std::int64_t bytes_at_end_ = 0;
};

// The message layer of a rank that takes in load whenever it waits for something else.
template <typename Transport, typename Traffic>
class ServingTransport {
public:
    ServingTransport(Transport& transport, Traffic& traffic, LoadStream<Traffic>& stream)
        : transport_(transport), traffic_(traffic), stream_(stream), wanted_(stream.slots()) {}

    static constexpr int further_slots = 1;

    int rank() const { return transport_.rank(); }
    void send(const std::byte* data, std::int64_t bytes, int peer) {
        transport_.send(data, bytes, peer);
    }
    void send_control(const void* data, std::int64_t bytes, int peer) {
        transport_.send_control(data, bytes, peer);
    }
    void receive(std::byte* data, std::int64_t bytes, int peer) {
        traffic_.receive_message(wanted_, data, bytes, peer);
        serve_until_wanted();
    }
    void receive_control(void* data, std::int64_t bytes, int peer) {
        traffic_.receive_control(wanted_, data, bytes, peer);
        serve_until_wanted();
    }
    void sync_window() { transport_.sync_window(); }

    void begin() { stream_.start(traffic_); }
    void finish() {
        while (!stream_.finished())
            for (const Arrival& arrival : traffic_.await_some()) stream_.take(traffic_, arrival);
    }

private:
    void serve_until_wanted() {
        for (bool arrived = false; !arrived;)
            for (const Arrival& arrival : traffic_.await_some()) {
                arrived = arrived || arrival.slot == wanted_;
                if (arrival.slot != wanted_) stream_.take(traffic_, arrival);
            }
    }

    Transport& transport_;
    Traffic& traffic_;
    LoadStream<Traffic>& stream_;
    int wanted_;
};

}  // namespace fabricgauge
