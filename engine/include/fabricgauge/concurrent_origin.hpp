// One measuring rank's part in a round of concurrent pairs: with the target of its pair, or with
// its neighbours in a ring.
//
// Both have
//
//   static constexpr std::int64_t trips       a sample is that share of an operation
//   static constexpr bool goes_on             can go on alone until the others have finished
//   static constexpr bool waits_for_all       no operation ends before every rank's
//   void announce(const Round&)               before a round's operations
//   auto operation() const                    one operation, to be called
//   std::int64_t checked_ns(const Clock&)     one operation with its data checked: what it took
//   Waits ask_waits(ReadWaits)                those of the ranks that its samples wait for
//   void end()
//   std::int64_t payload_bytes() const, const Mismatch& mismatch() const, std::int64_t compared() const
#pragma once

#include <cstdint>

#include "fabricgauge/concurrent_ring.hpp"
#include "fabricgauge/messages.hpp"
#include "fabricgauge/together.hpp"
#include "fabricgauge/transport.hpp"
#include "fabricgauge/waits.hpp"

namespace fabricgauge {

// The target has a TargetPart.
template <typename Transport, typename Running>
class PairOrigin {
public:
    static constexpr std::int64_t trips = Running::one_way_trips;
    static constexpr bool goes_on = true;
    static constexpr bool waits_for_all = false;

    PairOrigin(const Running& running, Messages& messages, const Case& pair)
        : running_(running), messages_(messages), pair_(pair) {}

    void announce(const Round& round) {
        running_.transport.send_control(&round, sizeof round, running_.peer);
        await_signal(running_.transport, running_.peer);
        payload_bytes_ += static_cast<std::int64_t>(sizeof round) +
                          (round.samples * round.batch + round.lead_in) *
                              pair_.sample_payload_bytes();
    }

    // A copy, to be in registers and not in memory that a call might change.
    auto operation() const {
        return [running = running_] { running.origin(); };
    }

    template <typename Clock>
    std::int64_t checked_ns(const Clock& clock) {
        messages_.fill(Author::origin, checked_);
        await_signal(running_.transport, running_.peer);
        const std::int64_t begin_ns = clock.now_ns();
        running_.origin();
        const std::int64_t lasted_ns = clock.now_ns() - begin_ns;
        signal(running_.transport, running_.peer);
        if constexpr (Running::target_sends)
            messages_.verify(Running::reply_author, checked_, running_.transport.rank(), mismatch_);
        ++checked_;
        return lasted_ns;
    }

    Waits ask_waits(ReadWaits read_waits) {
        payload_bytes_ += static_cast<std::int64_t>(sizeof(Round));
        return read_waits() + waits_of_target(running_.transport, running_.peer);
    }

    void end() {
        const Round end{0, 0, 0};
        running_.transport.send_control(&end, sizeof end, running_.peer);
        payload_bytes_ += static_cast<std::int64_t>(sizeof end);
        Mismatch at_target;
        running_.transport.receive_control(&at_target, sizeof at_target, running_.peer);
        if (at_target.found != 0 &&
            (mismatch_.found == 0 || at_target.sample <= mismatch_.sample))
            mismatch_ = at_target;
    }

    std::int64_t payload_bytes() const noexcept { return payload_bytes_; }
    const Mismatch& mismatch() const noexcept { return mismatch_; }
    std::int64_t compared() const noexcept { return static_cast<std::int64_t>(checked_); }

private:
    const Running& running_;
    Messages& messages_;
    const Case& pair_;
    std::uint64_t checked_ = 0;
    std::int64_t payload_bytes_ = 0;
    Mismatch mismatch_;
};

// Each operation of a ring waits for the neighbours'. So all ranks make the same number, and none
// is left alone for longer than a message takes around.
template <typename Transport, typename Running>
class RingOrigin {
public:
    static constexpr std::int64_t trips = 1;
    static constexpr bool goes_on = false;
    static constexpr bool waits_for_all = true;

    RingOrigin(const Running& running, RingMessages& messages, const Communicator& communicator)
        : running_(running), messages_(messages),
          abroad_bytes_(abroad_bytes(running.ring, running.sides, communicator)) {}

    void announce(const Round& round) {
        payload_bytes_ += (round.samples * round.batch + round.lead_in) * abroad_bytes_;
    }

    auto operation() const {
        return [running = running_] { running(); };
    }

    template <typename Clock>
    std::int64_t checked_ns(const Clock& clock) {
        messages_.fill(checked_);
        const std::int64_t begin_ns = clock.now_ns();
        running_();
        const std::int64_t lasted_ns = clock.now_ns() - begin_ns;
        messages_.verify(checked_, mismatch_);
        ++checked_;
        return lasted_ns;
    }

    Waits ask_waits(ReadWaits read_waits) const { return read_waits(); }

    void end() {}

    std::int64_t payload_bytes() const noexcept { return payload_bytes_; }
    const Mismatch& mismatch() const noexcept { return mismatch_; }
    std::int64_t compared() const noexcept { return static_cast<std::int64_t>(checked_); }

private:
    const Running& running_;
    RingMessages& messages_;
    std::int64_t abroad_bytes_;
    std::uint64_t checked_ = 0;
    std::int64_t payload_bytes_ = 0;
    Mismatch mismatch_;
};

}  // namespace fabricgauge
