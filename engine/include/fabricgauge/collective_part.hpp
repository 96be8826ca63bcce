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
#include "fabricgauge/synchronised_clock.hpp"
#include "fabricgauge/together.hpp"

namespace fabricgauge {

template <typename Transport, typename Clock>
class CollectivePart {
public:
    CollectivePart(Transport& transport, const Clock& clock,
                   SynchronisedClock<Transport, Clock>& common, const Case& measured,
                   const Communicator& communicator, bool check_data, bool check_first,
                   DeviceMemory* device)
        : transport_(transport), common_(common),
          blocks_(transport, clock, common, measured, communicator, check_data, check_first,
                  device),
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
        blocks_.make(round);
        // Samples after barriers are not mixed with samples at moments.
        if (round.kind != kind_) own_ = BlockSeries();
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

    void keep_own(std::int64_t samples) {
        std::size_t kept = 0;
        for (std::int64_t i = 0; i < samples; ++i)
            if (blocks_.start(i) == Start::in_time)
                samples_ps_[kept++] = blocks_.own_ns(i) * 1000;
        if (kept > 0) own_.add(median_of(samples_ps_.data(), kept));
    }

    Transport& transport_;
    SynchronisedClock<Transport, Clock>& common_;
    CollectiveBlocks<Transport, Clock> blocks_;
    BlockSeries own_;  // medians of blocks of this rank's own times
    std::vector<std::int64_t> samples_ps_;
    std::int64_t kind_ = CollectiveRound::end;
    bool renewed_ = false;
    double clock_error_s_ = 0.0;
};

}  // namespace fabricgauge
