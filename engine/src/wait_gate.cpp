#include "fabricgauge/wait_gate.hpp"

#include <algorithm>

#include "fabricgauge/batching.hpp"

namespace fabricgauge {

WaitGate::WaitGate(const Case& measured, const Precision& precision, double budget_s,
                   bool crowded, Deciding deciding) noexcept
    : reads_(precision.read_waits != nullptr && measured.message_bytes <= longest_of_fewest_bytes),
      crowded_(crowded), deciding_(deciding), budget_s_(budget_s),
      latest_s_(crowded || precision.iterations > 0
                    ? 0.0
                    : longest_with_waits_s(budget_s, precision.extension_s) - budget_s),
      budget_(budget_s) {}

bool WaitGate::waits_made_samples(const GroupWaits& from, const GroupWaits& now, std::int64_t samples,
                                  double measured_s) const {
    const std::size_t groups = std::min(from.size(), now.size());
    std::size_t made = 0;
    for (std::size_t i = 0; i < groups; ++i)
        made += waits_made_median(now[i] - from[i], samples, measured_s);
    return made > 0 && (deciding_ == Deciding::any_group || 2 * made >= groups);
}

bool WaitGate::has_passed(const GroupWaits& now, std::int64_t samples, double block_s,
                          double elapsed_s) {
    const bool disturbed = samples == 0 || waits_made_samples(last_, now, samples, block_s);
    last_ = now;
    if (disturbed) return false;
    begin(now);
    waits_out_ = waiting_ = false;
    budget_ = BudgetRule(elapsed_s + budget_s_);
    return true;
}

bool WaitGate::interval_ends(const GroupWaits& now, std::int64_t samples, double measured_s) {
    if (!reads_) return true;
    look(now, samples, measured_s);
    return !waiting_ || crowded_;
}

bool WaitGate::budget_ends(const GroupWaits& now, std::int64_t samples, double measured_s,
                           double elapsed_s) {
    if (!reads_) return true;
    look(now, samples, measured_s);
    if (!waiting_ || elapsed_s >= latest_s_) return true;
    waits_out_ = true;
    last_ = now;
    budget_ = BudgetRule(latest_s_);
    return false;
}

void WaitGate::look(const GroupWaits& now, std::int64_t samples, double measured_s) {
    waiting_ = reads_ && waits_made_samples(first_, now, samples, measured_s);
}

}  // namespace fabricgauge
