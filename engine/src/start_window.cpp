#include "fabricgauge/start_window.hpp"

#include <algorithm>
#include <cmath>

namespace fabricgauge {

namespace {

// To read the clock, to convert its time, to leave the loop that waits.
constexpr double turnaround_ns = 1000.0;
constexpr std::int64_t shortest_lead_ns = 2'000;
constexpr std::int64_t first_lead_ns = 50'000;

}  // namespace

StartWindow::StartWindow(double operation_s, double tolerance_s) noexcept
    : operation_ns_(operation_s * 1e9), tolerance_ns_(std::llround(tolerance_s * 1e9)),
      lead_ns_(first_lead_ns + std::llround(2.0 * operation_ns_)) {}

std::int64_t StartWindow::length_ns() const noexcept {
    const double slack_ns = turnaround_ns + 2.0 * static_cast<double>(tolerance_ns_);
    return std::llround(factor_ * operation_ns_ + slack_ns);
}

void StartWindow::learn(const BlockStarts& starts, double operation_s) noexcept {
    operation_ns_ = operation_s * 1e9;
    if (starts.overrun * 10 > starts.iterations)
        factor_ = std::min(factor_ * 1.5, longest_factor);
    else if (starts.overrun == 0)
        factor_ = std::max(factor_ * 0.95, shortest_factor);
    // The lead changes little at a time: a rank that is held up once is not held up every time, and
    // a long wait invites the kernel to run something else.
    lead_ns_ = std::clamp(2 * starts.lag_ns, lead_ns_ - lead_ns_ / 10, lead_ns_ + lead_ns_ / 2);
    lead_ns_ = std::max(lead_ns_, shortest_lead_ns);
    count(starts);
    if (starts.late * 2 > starts.iterations)
        most_samples_ = std::max<std::int64_t>(1, std::min(most_samples_, starts.iterations) / 2);
    else if (starts.late * 10 < starts.iterations)
        most_samples_ = std::min(2 * most_samples_, longest_block_samples);
}

// Late starts of one announcement have one cause, so only single ones are counted.
void StartWindow::count(const BlockStarts& starts) noexcept {
    if (most_samples_ > 1) {
        single_ = late_ = 0;
        return;
    }
    single_ += starts.iterations;
    late_ += starts.late;
}

bool StartWindow::hopeless() const noexcept {
    return single_ >= fewest_judged && late_ * 4 > single_ * 3;
}

}  // namespace fabricgauge
