// The target's part of a case: it follows each round's request, and checks the received data.
#pragma once

#include <cstdint>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/data_pattern.hpp"
#include "fabricgauge/messages.hpp"
#include "fabricgauge/transport.hpp"
#include "fabricgauge/waits.hpp"

namespace fabricgauge {

struct TargetResult {
    std::int64_t payload_bytes = 0;
};

template <typename Transport, typename Running>
class TargetPart {
public:
    TargetPart(const Running& running, Messages& messages, const Case& measured,
               ReadWaits read_waits = waits_of_this_thread)
        : running_(running), messages_(messages), measured_(measured), read_waits_(read_waits) {}

    void run(TargetResult& result) {
        for (Round round = next(); round.samples != 0; round = next()) {
            if (round.samples < 0) {
                tell_waits(result);
                continue;
            }
            signal(running_.transport, running_.peer);
            const std::int64_t operations = round.samples * round.batch + round.lead_in;
            if (round.checked != 0)
                checked_block(round.samples);
            else
                plain_block(operations);
            if constexpr (Running::target_sends)
                result.payload_bytes += operations * payload_of_operation_bytes(measured_);
        }
        running_.transport.send_control(&mismatch_, sizeof mismatch_, running_.peer);
        result.payload_bytes += static_cast<std::int64_t>(sizeof mismatch_);
    }

private:
    Round next() {
        Round round;
        running_.transport.receive_control(&round, sizeof round, running_.peer);
        return round;
    }

    void tell_waits(TargetResult& result) {
        const Waits waits = read_waits_();
        running_.transport.send_control(&waits, sizeof waits, running_.peer);
        result.payload_bytes += static_cast<std::int64_t>(sizeof waits);
    }

    void plain_block(std::int64_t operations) {
        const Running running = running_;  // in registers, not in memory that a call might change
        if constexpr (Running::threaded) {
            running.target(operations);
        } else {
            for (std::int64_t i = 0; i < operations; ++i) running.target();
        }
    }

    void checked_block(std::int64_t samples) {
        for (std::int64_t i = 0; i < samples; ++i, ++checked_) {
            if constexpr (Running::target_fills)
                messages_.fill(Author::target, checked_);
            else if constexpr (Running::target_sends)
                messages_.fill_reply(Running::reply_author, checked_);
            running_.expose();
            signal(running_.transport, running_.peer);
            running_.target();
            await_signal(running_.transport, running_.peer);
            running_.collect();
            if constexpr (Running::origin_sends)
                messages_.verify(Author::origin, checked_, running_.transport.rank(), mismatch_);
        }
    }

    const Running& running_;
    Messages& messages_;
    const Case& measured_;
    ReadWaits read_waits_;
    std::uint64_t checked_ = 0;
    Mismatch mismatch_;
};

}  // namespace fabricgauge
