#include "fabricgauge/collective_stops.hpp"

#include <algorithm>

#include "fabricgauge/collective_memory.hpp"

namespace fabricgauge {

namespace {

// A non-blocking operation is also timed with computing beside it, which takes about twice as long.
double share_of_budget(const Case& measured) {
    return is_nonblocking(measured.pattern) ? 0.5 : 1.0;
}

}  // namespace

CollectiveStops::CollectiveStops(const Case& measured, const Precision& precision)
    : budget_s_(measured.budget_s), share_s_(measured.budget_s * share_of_budget(measured)),
      interval_(precision.relative_half_width, precision.confidence), budget_(share_s_),
      iterations_(precision.iterations) {}

Stop CollectiveStops::after_block(Recorder& recorder, double samples_s, double elapsed_s,
                                  double block_s) {
    taken_ = recorder.samples() + recorder.samples_waiting();
    measured_s_ += samples_s;
    // All further samples are kept, so that a case that never settles has samples.
    if (elapsed_s > share_s_ / 2.0 && recorder.blocks_waiting() >= Recorder::fewest_searched)
        recorder.settle();
    if (taken_ > 0 && iterations_.reached(taken_)) return Stop::iterations;
    if (budget_.reached(elapsed_s, block_s)) return Stop::budget;
    if (!iterations_.limits() && interval_.due(measured_s_) &&
        interval_.narrow(recorder.settled_medians_ps()))
        return Stop::interval;
    return Stop::none;
}

double CollectiveStops::until_with_computing_s(double elapsed_s) const noexcept {
    return std::min(budget_s_, 2.0 * elapsed_s);
}

}  // namespace fabricgauge
