// A launch's knowledge of lost frames, and the work that it omits if many are lost.
//
// If a frame of a small message is lost, TCP waits 0.2 s and more, so that no interval narrows:
// more samples, or more sizes of a series, give no new information.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/sockets.hpp"

namespace fabricgauge {

class Losses {
public:
    // Add the segments that this rank's connections sent in a case. Only small messages without a
    // window or a load count: they fill no queue, so the network lost the missing frames. A busy
    // host answers late, and TCP then sends segments again that had arrived: these are not losses.
    void add(const Case& measured, const Sockets& of_case);
    // Return true if one connection lost many frames.
    bool heavy() const;

    // Set whether any rank's connections lost many frames; all ranks know this before a case.
    void agree(bool losing) noexcept { losing_ = losing; }
    // Return true if this size of its series is omitted.
    bool spares(const Case& measured);
    // The case with the budget and the clocks that are worth their time.
    Case in_time_for(const Case& measured) const;

    static constexpr char reason[] =
        "frames are lost, so that of a series one size in three is measured";

private:
    struct Sent {
        std::int64_t segments = 0;
        std::int64_t lost = 0;
    };
    using Series = std::tuple<Pattern, int, int, int, int, Load, Epoch, int>;

    std::map<std::uint64_t, Sent> sent_;  // by a socket's inode
    bool losing_ = false;
    std::map<Series, int> met_;  // sizes of each series that came up meanwhile
};

}  // namespace fabricgauge
