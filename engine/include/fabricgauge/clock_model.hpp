// One clock in terms of another: offsets that were measured, and the straight line through them.
//
// Between two renewals a quartz's rate is constant to well below 1e-7, so a line is enough; as in
// HCA (S. Hunold, A. Carpen-Amarie, "Hierarchical Clock Synchronization in MPI", IEEE CLUSTER 2018).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fabricgauge {

// The other clock minus the own one at own time at_ns. The truth lies within half_width_ns, half
// of the shortest round trip, whatever the two ways take; where both take the same, far closer.
struct ClockOffset {
    std::int64_t at_ns;
    std::int64_t offset_ns;
    std::int64_t half_width_ns;
};

// From the readings of a ping-pong: own clock at its start and end, the other's in between. Each
// way's shortest time counts, not the shortest round trip's: an exchange needs to be undisturbed
// only one way (SKaMPI's method: T. Worsch, R. Reussner, W. Augustin, EuroPVM/MPI 2002).
class OffsetSearch {
public:
    void add(std::int64_t began_ns, std::int64_t other_ns, std::int64_t ended_ns) noexcept;
    // At the end of the last exchange that improved it; at least one was added.
    ClockOffset found() const noexcept;

private:
    std::int64_t exchanges_ = 0;
    std::int64_t at_ns_ = 0;
    std::int64_t there_ns_ = 0;  // other clock minus own one, too large by the way there
    std::int64_t back_ns_ = 0;   // own clock minus other one, too large by the way back
};

// other = own + offset_ns + slope (own - at_ns)
class ClockModel {
public:
    ClockModel() = default;
    ClockModel(std::int64_t at_ns, std::int64_t offset_ns, double slope) noexcept
        : at_ns_(at_ns), offset_ns_(offset_ns), slope_(slope) {}

    std::int64_t to_other(std::int64_t own_ns) const noexcept;
    std::int64_t to_own(std::int64_t other_ns) const noexcept;
    // The clock that `beyond` leads to from this model's other clock.
    ClockModel then(const ClockModel& beyond) const noexcept;

private:
    std::int64_t at_ns_ = 0;
    std::int64_t offset_ns_ = 0;
    double slope_ = 0.0;
};

// The last offsets to one other clock.
class OffsetHistory {
public:
    // Rates of two computers' clocks differ by less than this; quartzes are sold as ± 50 ppm.
    static constexpr double unknown_slope = 1e-4;

    void add(const ClockOffset& offset);
    bool empty() const noexcept { return offsets_.empty(); }
    // The half width of the last offset.
    std::int64_t half_width_ns() const noexcept { return offsets_.back().half_width_ns; }
    ClockModel model() const noexcept;
    // By how much the model's slope may be wrong.
    double slope_error() const noexcept;

private:
    static constexpr std::size_t longest = 16;
    // Corrections by a time daemon change a clock's rate, so old offsets mislead.
    static constexpr std::int64_t oldest_ns = 20'000'000'000;

    struct Line {
        double at_last_ns;  // relative to the last offset
        double slope;
        double slope_error;
    };
    Line line() const noexcept;
    // The deviation of an offset: the further its round trip is from the shortest, the larger.
    double deviation_ns(const ClockOffset& offset) const noexcept;

    std::vector<ClockOffset> offsets_;
};

}  // namespace fabricgauge
