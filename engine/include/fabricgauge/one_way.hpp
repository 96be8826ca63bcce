// The slower direction between two ranks, on the clock that all ranks share.
//
// A few ping-pongs with the case's messages, in which the target reads the clock too. The result is
// the difference of the two directions beyond that of the clock's messages: see
// docs/development/clocks.md.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "fabricgauge/clock_model.hpp"
#include "fabricgauge/messages.hpp"
#include "fabricgauge/synchronised_clock.hpp"

namespace fabricgauge {

// The number of exchanges that the time allows.
std::int64_t one_way_exchanges(double half_round_trip_s, double budget_s,
                               std::int64_t iterations) noexcept;

template <typename Transport, typename Clock>
class OneWay {
public:
    OneWay(Transport& transport, const Clock& clock,
           const SynchronisedClock<Transport, Clock>& common, const Slots& slots,
           std::int64_t bytes)
        : transport_(transport), clock_(clock), common_(common), slots_(slots), bytes_(bytes) {}

    // The shortest way to the target minus the shortest way back, halved; picoseconds.
    std::int64_t as_origin(int target, std::int64_t exchanges) {
        transport_.send_control(&exchanges, sizeof exchanges, target);
        std::vector<std::int64_t> began_ns(static_cast<std::size_t>(exchanges));
        std::vector<std::int64_t> ended_ns(began_ns), turned_ns(began_ns);
        for (std::size_t i = 0; i < began_ns.size(); ++i) {
            began_ns[i] = clock_.now_ns();
            transport_.send(slots_.outgoing(0), bytes_, target);
            transport_.receive(slots_.incoming(0), bytes_, target);
            ended_ns[i] = clock_.now_ns();
        }
        transport_.receive_control(turned_ns.data(), size_of(turned_ns), target);
        sent_bytes_ += exchanges * bytes_ + static_cast<std::int64_t>(sizeof exchanges);
        OffsetSearch search;
        for (std::size_t i = 0; i < began_ns.size(); ++i)
            search.add(common_.to_common(began_ns[i]), turned_ns[i],
                       common_.to_common(ended_ns[i]));
        return search.found().offset_ns * 1000;
    }

    void as_target(int origin) {
        std::int64_t exchanges = 0;
        transport_.receive_control(&exchanges, sizeof exchanges, origin);
        std::vector<std::int64_t> turned_ns(static_cast<std::size_t>(exchanges));
        for (std::int64_t& turned : turned_ns) {
            transport_.receive(slots_.incoming(0), bytes_, origin);
            turned = clock_.now_ns();
            transport_.send(slots_.reply, bytes_, origin);
        }
        for (std::int64_t& turned : turned_ns) turned = common_.to_common(turned);
        transport_.send_control(turned_ns.data(), size_of(turned_ns), origin);
        sent_bytes_ += exchanges * bytes_ + size_of(turned_ns);
    }

    // Payload that this rank sent since the last call.
    std::int64_t take_sent_bytes() { return std::exchange(sent_bytes_, 0); }

private:
    static std::int64_t size_of(const std::vector<std::int64_t>& values) {
        return static_cast<std::int64_t>(values.size() * sizeof values[0]);
    }

    Transport& transport_;
    const Clock& clock_;
    const SynchronisedClock<Transport, Clock>& common_;
    Slots slots_;
    std::int64_t bytes_;
    std::int64_t sent_bytes_ = 0;
};

}  // namespace fabricgauge
