// When a collective's case has enough samples: the rules of stopping.hpp, asked between blocks.
#pragma once

#include <cstdint>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/origin_part.hpp"
#include "fabricgauge/recorder.hpp"
#include "fabricgauge/stopping.hpp"

namespace fabricgauge {

class CollectiveStops {
public:
    CollectiveStops(const Case& measured, const Precision& precision);

    // Length of a block that does not go past the iterations asked for; those with computing are
    // counted for themselves, block by block.
    std::int64_t clip(std::int64_t block, bool computing) const noexcept {
        return iterations_.clip(block, computing ? 0 : taken_);
    }

    // After a block of samples_s whose making took block_s; settles what has waited long enough.
    Stop after_block(Recorder& recorder, double samples_s, double elapsed_s, double block_s);

    // Until when iterations with computing may go on that are first made at elapsed_s: as long as
    // those without, within the budget.
    double until_with_computing_s(double elapsed_s) const noexcept;

private:
    double budget_s_;
    double share_s_;  // of the budget, for the operation alone
    IntervalRule interval_;
    BudgetRule budget_;
    IterationsRule iterations_;
    std::int64_t taken_ = 0;
    double measured_s_ = 0.0;
};

}  // namespace fabricgauge
