// What a launch learns of lost frames, and what it spares where many are lost.
//
// Where a frame of a small message is lost TCP waits 0.2 s and more, so that no interval narrows:
// more samples would tell the same, and so would more sizes of a series.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/sockets.hpp"

namespace fabricgauge {

class Losses {
public:
    // What this rank's connections sent in a case. Only small messages without a window or a load
    // count: they fill no queue, so that what is lost was lost on the way. A busy host answers late,
    // and TCP sends again what had arrived: that is no loss.
    void add(const Case& measured, const Sockets& of_case);
    // Whether one connection lost much.
    bool heavy() const;

    // Whether any rank's connections lost much, as all ranks know before a case.
    void agree(bool losing) noexcept { losing_ = losing; }
    // Whether this size of its series is left out.
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
