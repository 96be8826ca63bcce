// Keeps samples that waits for a processor made from ending a case as if they were the network's.
//
// A case asks at the end of a block, once its interval is narrow or its budget is spent. If waits
// made the median, its interval does not end it, and its budget is extended until a block comes that
// waits did not make: the case then begins anew, with another budget. The extension has a limit, and
// a case that still consists of waits at its end is marked.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/stopping.hpp"
#include "fabricgauge/waits.hpp"

namespace fabricgauge {

// Of a pair, or of each concurrent pair, the sum over its two ranks: one waits after the other. Ranks
// of a collective or a ring wait at the same time, so each is a group: their sum grows with their number, and
// many short waits would look like a rank that has no processor.
using GroupWaits = std::vector<Waits>;

// Whose waits make the samples.
enum class Deciding { half_of_groups, any_group };

class WaitGate {
public:
    // If the ranks outnumber their processors they always wait: a `crowded` case is marked, but it
    // neither goes on nor is extended, since that would change nothing.
    WaitGate(const Case& measured, const Precision& precision, double budget_s,
             bool crowded = false, Deciding deciding = Deciding::half_of_groups) noexcept;

    // Waits count only if they are known and messages are short: a stream of large messages goes on
    // while a rank waits. If not, nothing below needs `now`.
    bool reads() const noexcept { return reads_; }
    // Samples count from here on.
    void begin(GroupWaits now) { first_ = std::move(now); }

    // Return true if the budget has no time for another block.
    bool is_spent(double elapsed_s, double block_s) const noexcept {
        return budget_.reached(elapsed_s, block_s);
    }
    // The budget was extended: all samples so far are waits.
    bool waits_out() const noexcept { return waits_out_; }
    // While it waits: return true if waits did not make the block since the last call. The case
    // then begins anew, with the whole budget.
    bool has_passed(const GroupWaits& now, std::int64_t samples, double block_s, double elapsed_s);

    // At a narrow interval: return true if it ends the case. `samples` are those of a group since
    // the beginning, which took `measured_s`.
    bool interval_ends(const GroupWaits& now, std::int64_t samples, double measured_s);
    // At the end of the budget: return true if it ends the case, else the budget is longer now.
    bool budget_ends(const GroupWaits& now, std::int64_t samples, double measured_s,
                     double elapsed_s);
    // At any other end of a case.
    void look(const GroupWaits& now, std::int64_t samples, double measured_s);

    // Waits made the median, by the last look.
    bool waiting() const noexcept { return waiting_; }

private:
    // Return true if waits made the samples of the groups that decide.
    bool waits_made_samples(const GroupWaits& from, const GroupWaits& now, std::int64_t samples,
                            double measured_s) const;

    bool reads_;
    bool crowded_;
    Deciding deciding_;
    double budget_s_;
    double latest_s_;  // the end of the extension, with time for another budget
    BudgetRule budget_;
    GroupWaits first_;
    GroupWaits last_;
    bool waits_out_ = false;
    bool waiting_ = false;
};

}  // namespace fabricgauge
