#include "fabricgauge/losses.hpp"

#include <algorithm>

namespace fabricgauge {
namespace {

constexpr std::int64_t small_bytes = 4096;
constexpr std::int64_t fewest_lost = 5;
constexpr double heavy_share = 0.005;
constexpr double share_of_budget = 0.25;
constexpr int sizes_for_one = 3;

}  // namespace

void Losses::add(const Case& measured, const Sockets& of_case) {
    const bool fills = has_window(measured.pattern) || measured.load != Load::none;
    if (fills || measured.message_bytes > small_bytes) return;
    for (const auto& [inode, state] : of_case) {
        sent_[inode].segments += state.data_segments;
        sent_[inode].lost += state.retransmitted_segments - state.spurious_segments;
    }
}

bool Losses::heavy() const {
    return std::any_of(sent_.begin(), sent_.end(), [](const auto& one) {
        const auto [segments, lost] = one.second;
        return lost >= fewest_lost &&
               static_cast<double>(lost) >= heavy_share * static_cast<double>(segments);
    });
}

bool Losses::spares(const Case& measured) {
    if (!losing_) return false;
    int& met = met_[{measured.pattern, measured.origin, measured.target, measured.ranks,
                     measured.pairs, measured.load, measured.epoch, measured.threads}];
    return met++ % sizes_for_one != 0;
}

Case Losses::in_time_for(const Case& measured) const {
    Case timed = measured;
    timed.losing = losing_;
    if (!losing_) return timed;
    timed.budget_s *= share_of_budget;
    // Clocks read over such a way agree seldom, and each try waits.
    if (timed.clock == ClockChoice::best) timed.clock = ClockChoice::barrier;
    return timed;
}

}  // namespace fabricgauge
