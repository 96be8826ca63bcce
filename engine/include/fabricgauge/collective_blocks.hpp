// A block of a collective's iterations as every rank makes it, and what all ranks make of it.
//
// Between a start and an end there is nothing but the operation: the readings go into memory that
// exists. After the block one reduction gives every rank the first start, the last end and the
// lateness of each iteration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "fabricgauge/collective_memory.hpp"
#include "fabricgauge/collective_operations.hpp"
#include "fabricgauge/computing.hpp"
#include "fabricgauge/moments.hpp"
#include "fabricgauge/synchronised_clock.hpp"
#include "fabricgauge/together.hpp"

namespace fabricgauge {

// The message by which rank 0 prepares all ranks for a common step.
struct CollectiveRound {
    enum Kind : std::int64_t { end, renewal, after_barrier, at_moments, waits };

    std::int64_t kind;
    std::int64_t samples;
    std::int64_t lead_in;         // iterations before them that are not looked at, 0 or 1
    std::int64_t announced_ns;    // moments are readings of the common clock
    std::int64_t first_ns;        // when the first iteration is to start
    std::int64_t window_ns;       // from one start to the next
    std::int64_t tolerance_ns;    // starts later than that are late
    std::int64_t computing_ns;    // between start and completion
    std::int64_t anew = 0;        // 1 if all samples so far are dropped, waits made them
};

// The start of an iteration on its worst rank.
enum class Start : std::int64_t { in_time, late, overrun };

template <typename Transport, typename Clock>
class CollectiveBlocks {
public:
    CollectiveBlocks(Transport& transport, const Clock& clock,
                     const SynchronisedClock<Transport, Clock>& common, const Case& measured,
                     const Communicator& communicator, bool check_data, bool check_first,
                     DeviceMemory* device)
        : transport_(transport), clock_(clock), common_(common), measured_(measured),
          data_(measured, communicator.rank, communicator.members, check_data, device),
          collectives_(transport.collectives(data_.memory())), computing_(clock),
          check_data_(check_data), check_first_(check_first && device == nullptr), readings_(longest_block),
          agreed_(rows * longest_block + extras) {}

    // Collective. Stores the round's samples; the functions below return their figures.
    void make(const CollectiveRound& round) {
        if (round.computing_ns > 0) alone_ns_ = compute_alone(round.computing_ns);
        const bool check = check_data_ || (check_first_ && checked_ == 0);
        if (check) data_.fill(checked_);
        with_collective(measured_.pattern, collectives_, [&](const auto& operation) {
            if (round.kind == CollectiveRound::at_moments)
                at_moments(operation, round);
            else
                after_barrier(operation, round);
        });
        if (check) data_.verify(checked_++, mismatch_);
        agree(round);
    }

    // From the first start to the last end, on the common clock.
    std::int64_t common_ns(std::int64_t sample) const noexcept {
        return -row(1)[sample] - row(0)[sample];
    }
    // The slowest rank's own time.
    std::int64_t slowest_ns(std::int64_t sample) const noexcept { return -row(2)[sample]; }
    Start start(std::int64_t sample) const noexcept { return Start(-row(3)[sample]); }
    // This rank's own time.
    std::int64_t own_ns(std::int64_t sample) const noexcept {
        const Reading& reading = readings_[static_cast<std::size_t>(lead_in_ + sample)];
        return reading.ended_ns - reading.began_ns;
    }
    // From the announcement until the last rank was ready.
    std::int64_t lag_ns() const noexcept { return -extra(0); }
    // The longest that the round's computing took on any rank without an operation beside it.
    std::int64_t computing_ns() const noexcept { return -extra(1); }

    const Mismatch& mismatch() const noexcept { return mismatch_; }
    // Iterations whose data were compared.
    std::int64_t compared() const noexcept { return static_cast<std::int64_t>(checked_); }

private:
    using Collectives =
        decltype(std::declval<Transport&>().collectives(std::declval<const CollectiveMemory&>()));
    static constexpr std::int64_t longest_block = TogetherResult::longest_together_block + 1;
    static constexpr std::int64_t rows = 4;
    static constexpr std::int64_t extras = 2;

    struct Reading {
        std::int64_t ready_ns;
        std::int64_t due_ns;
        std::int64_t began_ns;
        std::int64_t ended_ns;
    };

    template <typename Operation>
    void at_moments(const Operation& operation, const CollectiveRound& round) {
        const std::int64_t iterations = round.lead_in + round.samples;
        for (std::int64_t i = 0; i < iterations; ++i) {
            Reading& reading = readings_[static_cast<std::size_t>(i)];
            reading.ready_ns = clock_.now_ns();
            reading.due_ns = common_.to_own(round.first_ns + i * round.window_ns);
            reading.began_ns = wait_until(clock_, reading.due_ns);
            perform(operation, round);
            reading.ended_ns = clock_.now_ns();
        }
    }

    template <typename Operation>
    void after_barrier(const Operation& operation, const CollectiveRound& round) {
        const std::int64_t iterations = round.lead_in + round.samples;
        for (std::int64_t i = 0; i < iterations; ++i) {
            Reading& reading = readings_[static_cast<std::size_t>(i)];
            collectives_.barrier();
            reading.began_ns = reading.ready_ns = reading.due_ns = clock_.now_ns();
            perform(operation, round);
            reading.ended_ns = clock_.now_ns();
        }
    }

    template <typename Operation>
    void perform(const Operation& operation, const CollectiveRound& round) {
        operation.start();
        if constexpr (Operation::nonblocking)
            if (round.computing_ns > 0) computing_.run(round.computing_ns);
        operation.complete();
    }

    std::int64_t compute_alone(std::int64_t length_ns) {
        if (!calibrated_) computing_.calibrate();
        calibrated_ = true;
        return computing_.timed_ns(length_ns);
    }

    // Every value is turned so that the worst rank's is the least.
    void agree(const CollectiveRound& round) {
        samples_ = round.samples;
        lead_in_ = round.lead_in;
        for (std::int64_t i = 0; i < samples_; ++i) {
            const Reading& reading = readings_[static_cast<std::size_t>(lead_in_ + i)];
            row(0)[i] = common_.to_common(reading.began_ns);
            row(1)[i] = -common_.to_common(reading.ended_ns);
            row(2)[i] = reading.began_ns - reading.ended_ns;
            row(3)[i] = -static_cast<std::int64_t>(judge(reading, round.tolerance_ns));
        }
        extra(0) = round.announced_ns - common_.to_common(readings_.front().ready_ns);
        extra(1) = -alone_ns_;
        transport_.minimum_in_communicator(agreed_.data(), rows * samples_ + extras);
    }

    static Start judge(const Reading& reading, std::int64_t tolerance_ns) noexcept {
        if (reading.began_ns - reading.due_ns <= tolerance_ns) return Start::in_time;
        return reading.ready_ns > reading.due_ns ? Start::overrun : Start::late;
    }

    std::int64_t* row(std::int64_t number) noexcept { return agreed_.data() + number * samples_; }
    const std::int64_t* row(std::int64_t number) const noexcept {
        return agreed_.data() + number * samples_;
    }
    std::int64_t& extra(std::int64_t number) noexcept { return row(rows)[number]; }
    std::int64_t extra(std::int64_t number) const noexcept { return row(rows)[number]; }

    Transport& transport_;
    const Clock& clock_;
    const SynchronisedClock<Transport, Clock>& common_;
    const Case& measured_;
    CollectiveData data_;
    Collectives collectives_;
    Computing<Clock> computing_;
    bool calibrated_ = false;
    bool check_data_;
    bool check_first_;
    std::uint64_t checked_ = 0;
    Mismatch mismatch_;
    std::int64_t samples_ = 0;
    std::int64_t lead_in_ = 0;
    std::int64_t alone_ns_ = 0;
    std::vector<Reading> readings_;
    std::vector<std::int64_t> agreed_;
};

}  // namespace fabricgauge
