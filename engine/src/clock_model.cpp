#include "fabricgauge/clock_model.hpp"

#include <algorithm>
#include <cmath>

namespace fabricgauge {

namespace {

std::int64_t scaled(double slope, std::int64_t span_ns) noexcept {
    return std::llround(slope * static_cast<double>(span_ns));
}

}  // namespace

void OffsetSearch::add(std::int64_t began_ns, std::int64_t other_ns,
                       std::int64_t ended_ns) noexcept {
    const std::int64_t there = other_ns - began_ns;
    const std::int64_t back = ended_ns - other_ns;
    const bool first = exchanges_++ == 0;
    if (first || there < there_ns_ || back < back_ns_) at_ns_ = ended_ns;
    there_ns_ = first ? there : std::min(there_ns_, there);
    back_ns_ = first ? back : std::min(back_ns_, back);
}

ClockOffset OffsetSearch::found() const noexcept {
    // Clocks that drift apart while they exchange can make the sum of both ways negative.
    const std::int64_t width = std::max<std::int64_t>(there_ns_ + back_ns_, 0);
    return {at_ns_, there_ns_ - (there_ns_ + back_ns_) / 2, (width + 1) / 2};
}

std::int64_t ClockModel::to_other(std::int64_t own_ns) const noexcept {
    return own_ns + offset_ns_ + scaled(slope_, own_ns - at_ns_);
}

std::int64_t ClockModel::to_own(std::int64_t other_ns) const noexcept {
    const std::int64_t since = other_ns - offset_ns_ - at_ns_;
    return at_ns_ + since + scaled(1.0 / (1.0 + slope_) - 1.0, since);
}

ClockModel ClockModel::then(const ClockModel& beyond) const noexcept {
    return {at_ns_, beyond.to_other(at_ns_ + offset_ns_) - at_ns_,
            slope_ + beyond.slope_ + slope_ * beyond.slope_};
}

void OffsetHistory::add(const ClockOffset& offset) {
    const auto too_old = [&](const ClockOffset& one) {
        return offset.at_ns - one.at_ns > oldest_ns;
    };
    offsets_.erase(std::remove_if(offsets_.begin(), offsets_.end(), too_old), offsets_.end());
    if (offsets_.size() == longest) offsets_.erase(offsets_.begin());
    offsets_.push_back(offset);
}

ClockModel OffsetHistory::model() const noexcept {
    if (offsets_.empty()) return {};
    const ClockOffset& last = offsets_.back();
    const Line found = line();
    return {last.at_ns, last.offset_ns + std::llround(found.at_last_ns), found.slope};
}

double OffsetHistory::slope_error() const noexcept { return line().slope_error; }

double OffsetHistory::deviation_ns(const ClockOffset& offset) const noexcept {
    const auto narrower = [](const ClockOffset& one, const ClockOffset& other) {
        return one.half_width_ns < other.half_width_ns;
    };
    const auto best =
        std::min_element(offsets_.begin(), offsets_.end(), narrower)->half_width_ns;
    // Even undisturbed exchanges differ by some per cent of a round trip.
    const double usual = std::max(10.0, static_cast<double>(best) / 50.0);
    return usual + static_cast<double>(offset.half_width_ns - best);
}

// Weighted least squares. If the offsets determine the slope less precisely than is known of any
// two clocks, the slope is taken as 0 and the last offset as exact.
OffsetHistory::Line OffsetHistory::line() const noexcept {
    const Line unknown{0.0, 0.0, unknown_slope};
    if (offsets_.size() < 2) return unknown;
    const ClockOffset& last = offsets_.back();
    double weights = 0.0, at = 0.0, offset = 0.0;
    for (const ClockOffset& one : offsets_) {
        const double weight = 1.0 / (deviation_ns(one) * deviation_ns(one));
        weights += weight;
        at += weight * static_cast<double>(one.at_ns - last.at_ns);
        offset += weight * static_cast<double>(one.offset_ns - last.offset_ns);
    }
    at /= weights;
    offset /= weights;
    double spread = 0.0, joint = 0.0;
    for (const ClockOffset& one : offsets_) {
        const double weight = 1.0 / (deviation_ns(one) * deviation_ns(one));
        const double away = static_cast<double>(one.at_ns - last.at_ns) - at;
        spread += weight * away * away;
        joint += weight * away * (static_cast<double>(one.offset_ns - last.offset_ns) - offset);
    }
    const double error = 2.0 / std::sqrt(std::max(spread, 1e-12));
    if (error >= unknown_slope) return unknown;
    const double slope = joint / spread;
    return {offset - slope * at, slope, error};
}

}  // namespace fabricgauge
