// One rank's part in a collective's case: it does what each round of rank 0's asks for.
//
// See collective_lead.hpp for what rank 0 asks, and docs/development/clocks.md for why.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "fabricgauge/blocks.hpp"
#include "fabricgauge/case_list.hpp"
#include "fabricgauge/collective_blocks.hpp"
#include "fabricgauge/stopping.hpp"
#include "fabricgauge/synchronised_clock.hpp"
#include "fabricgauge/together.hpp"
#include "fabricgauge/wait_gate.hpp"
#include "fabricgauge/waits.hpp"

namespace fabricgauge {

template <typename Transport, typename Clock>
class CollectivePart {
public:
    CollectivePart(Transport& transport, const Clock& clock,
                   SynchronisedClock<Transport, Clock>& common, const Case& measured,
                   const Communicator& communicator, const Precision& precision,
                   DeviceMemory* device)
        : transport_(transport), common_(common), read_waits_(precision.read_waits),
          blocks_(transport, clock, common, measured, communicator, precision.check_data,
                  precision.check_first, device),
          samples_ps_(TogetherResult::longest_together_block) {
        common_.begin(communicator);
    }

    // Collective; rank 0 calls it, with `end` at last.
    void tell(CollectiveRound round) {
        transport_.broadcast_in_communicator(&round, sizeof round);
        take(round);
    }

    // The part of all ranks except rank 0.
    void follow() {
        CollectiveRound round{};
        do {
            transport_.broadcast_in_communicator(&round, sizeof round);
            take(round);
        } while (round.kind != CollectiveRound::end);
    }

    // Collective; rank 0 calls it. Those of each rank.
    GroupWaits ask_waits() {
        tell({CollectiveRound::waits, 0, 0, 0, 0, 0, 0, 0});
        return waits_;
    }

    const CollectiveBlocks<Transport, Clock>& blocks() const noexcept { return blocks_; }
    // The error of the clock that the last renewal found.
    double clock_error_s() const noexcept { return clock_error_s_; }

    // Collective. At rank 0: each rank's median of its own times.
    std::vector<double> gather_medians_s() {
        std::vector<double> own = own_.medians_ps();
        const double own_s = own.empty() ? 0.0 : median_of(own.data(), own.size()) * 1e-12;
        const std::string packed(reinterpret_cast<const char*>(&own_s), sizeof own_s);
        std::vector<double> all;
        for (const std::string& text : transport_.gather_in_communicator(packed)) {
            all.push_back(0.0);
            std::memcpy(&all.back(), text.data(), sizeof own_s);
        }
        return all;
    }

private:
    void take(const CollectiveRound& round) {
        if (round.kind == CollectiveRound::end) return;
        if (round.kind == CollectiveRound::renewal) return renew();
        if (round.kind == CollectiveRound::waits) return gather_waits();
        blocks_.make(round);
        // Samples after barriers are not mixed with samples at moments.
        if (round.kind != kind_ || round.anew != 0) own_ = BlockSeries();
        kind_ = round.kind;
        if (round.computing_ns == 0) keep_own(round.samples);
    }

    // The old clock is checked before it is renewed, so that its drift is known; a new one can only
    // be checked afterwards.
    void renew() {
        if (renewed_) clock_error_s_ = common_.disagreement_s();
        common_.renew();
        if (!renewed_) clock_error_s_ = common_.disagreement_s();
        renewed_ = true;
    }

    void gather_waits() {
        const Waits own = read_waits_();
        const std::string packed(reinterpret_cast<const char*>(&own), sizeof own);
        waits_.clear();
        for (const std::string& text : transport_.gather_in_communicator(packed)) {
            Waits of_rank;
            std::memcpy(&of_rank, text.data(), sizeof of_rank);
            waits_.push_back(of_rank);
        }
    }

    void keep_own(std::int64_t samples) {
        std::size_t kept = 0;
        for (std::int64_t i = 0; i < samples; ++i)
            if (blocks_.start(i) == Start::in_time)
                samples_ps_[kept++] = blocks_.own_ns(i) * 1000;
        if (kept > 0) own_.add(median_of(samples_ps_.data(), kept));
    }

    Transport& transport_;
    SynchronisedClock<Transport, Clock>& common_;
    ReadWaits read_waits_;
    CollectiveBlocks<Transport, Clock> blocks_;
    BlockSeries own_;  // medians of blocks of this rank's own times
    std::vector<std::int64_t> samples_ps_;
    std::int64_t kind_ = CollectiveRound::end;
    GroupWaits waits_;  // at rank 0
    bool renewed_ = false;
    double clock_error_s_ = 0.0;
};

}  // namespace fabricgauge
