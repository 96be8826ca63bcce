// When a collective's case has enough samples: the rules of stopping.hpp, asked between blocks.
#pragma once

#include <cstdint>
#include <functional>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/recorder.hpp"
#include "fabricgauge/stopping.hpp"
#include "fabricgauge/wait_gate.hpp"

namespace fabricgauge {

// Those of each rank: an operation waits for all of them. Collective.
using AskWaits = std::function<GroupWaits()>;

class CollectiveStops {
public:
    // `crowded`: see WaitGate.
    CollectiveStops(const Case& measured, const Precision& precision, bool crowded,
                    AskWaits ask_waits);

    // Length of a block that does not go past the iterations asked for; those with computing are
    // counted for themselves, block by block.
    std::int64_t clip(std::int64_t block, bool computing) const noexcept {
        return iterations_.clip(block, computing ? 0 : taken_);
    }

    // Return true if the first sample, longer than the time for a second one, ends the case.
    bool first_ends(double sample_s, double elapsed_s);

    // After a block of samples_s whose making took block_s; settles what has waited long enough.
    Stop after_block(Recorder& recorder, double samples_s, double elapsed_s, double block_s);
    // The last block was the first that waits for a processor did not make: all before was dropped.
    bool began_anew() const noexcept { return began_anew_; }
    // Half of the time for samples has passed.
    bool is_late(double elapsed_s) const noexcept { return elapsed_s > began_s_ + budget_s_ / 2.0; }
    bool waiting() const noexcept { return gate_.waiting(); }

    // Until when iterations with computing may go on that are first made at elapsed_s: as long as
    // those without, within the budget.
    double until_with_computing_s(double elapsed_s) const noexcept;

private:
    GroupWaits group_waits() const { return gate_.reads() ? ask_waits_() : GroupWaits{}; }
    bool has_passed(const Recorder& recorder, double elapsed_s, double block_s);

    AskWaits ask_waits_;
    double budget_s_;
    double share_s_;  // of the budget, for the operation alone
    IntervalRule first_interval_;
    IntervalRule interval_;
    WaitGate gate_;
    IterationsRule iterations_;
    std::int64_t taken_ = 0;
    double measured_s_ = 0.0;
    double blocks_s_ = 0.0;  // with all that the samples were made with
    double began_s_ = 0.0;
    bool began_anew_ = false;
};

}  // namespace fabricgauge
