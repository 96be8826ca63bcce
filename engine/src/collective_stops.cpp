#include "fabricgauge/collective_stops.hpp"

#include <algorithm>
#include <utility>

#include "fabricgauge/collective_memory.hpp"

namespace fabricgauge {

namespace {

// A non-blocking operation is also timed with computing beside it, which takes about twice as long.
double share_of_budget(const Case& measured) {
    return is_nonblocking(measured.pattern) ? 0.5 : 1.0;
}

}  // namespace

CollectiveStops::CollectiveStops(const Case& measured, const Precision& precision, bool crowded,
                                 AskWaits ask_waits)
    : ask_waits_(std::move(ask_waits)), budget_s_(measured.budget_s),
      share_s_(measured.budget_s * share_of_budget(measured)),
      first_interval_(precision.relative_half_width, precision.confidence),
      interval_(first_interval_), gate_(measured, precision, share_s_, crowded, Deciding::any_group),
      iterations_(precision.iterations) {
    gate_.begin(group_waits());
}

bool CollectiveStops::first_ends(double sample_s, double elapsed_s) {
    return gate_.budget_ends(group_waits(), 1, sample_s, elapsed_s);
}

Stop CollectiveStops::after_block(Recorder& recorder, double samples_s, double elapsed_s,
                                  double block_s) {
    measured_s_ += samples_s;
    blocks_s_ += block_s;
    began_anew_ = gate_.waits_out() && has_passed(recorder, elapsed_s, block_s);
    if (began_anew_) {
        recorder.discard_all();
        interval_ = first_interval_;
        taken_ = 0;
        measured_s_ = blocks_s_ = 0.0;
        began_s_ = elapsed_s;
        return Stop::none;
    }
    taken_ = recorder.samples() + recorder.samples_waiting();
    // All further samples are kept, so that a case that never settles has samples.
    if (elapsed_s > share_s_ / 2.0 && recorder.blocks_waiting() >= Recorder::fewest_searched)
        recorder.settle();
    if (taken_ > 0 && iterations_.reached(taken_)) {
        gate_.look(group_waits(), taken_, blocks_s_);
        return Stop::iterations;
    }
    if (gate_.is_spent(elapsed_s, block_s))
        return gate_.budget_ends(group_waits(), taken_, blocks_s_, elapsed_s) ? Stop::budget
                                                                              : Stop::none;
    if (!iterations_.limits() && interval_.due(measured_s_) &&
        interval_.narrow(recorder.settled_medians_ps()) &&
        gate_.interval_ends(group_waits(), taken_, blocks_s_))
        return Stop::interval;
    return Stop::none;
}

bool CollectiveStops::has_passed(const Recorder& recorder, double elapsed_s, double block_s) {
    const std::int64_t taken = recorder.samples() + recorder.samples_waiting();
    return gate_.has_passed(group_waits(), taken - taken_, block_s, elapsed_s);
}

double CollectiveStops::until_with_computing_s(double elapsed_s) const noexcept {
    return std::min(budget_s_, 2.0 * elapsed_s);
}

}  // namespace fabricgauge
