// A recording as one line of JSON: in order, in sums, and by cache lines of 64 bytes.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "mark.hpp"
#include "recording.hpp"
#include "symbols.hpp"

namespace fabricgauge::path {

// What is known of a call beside its instructions.
struct Circumstances {
    Mark mark;
    std::int64_t signals;  // came meanwhile; their handlers are counted
    bool cut;              // it was too long: the rest is not recorded
};

class Summary {
public:
    explicit Summary(const Symbols& symbols) : symbols_(symbols) {}
    // `new_lines` counts those that the call before did not touch.
    std::string of(const Recording& recording, const Circumstances& circumstances);

private:
    const Symbols& symbols_;
    std::set<std::uint64_t> previous_;
};

}  // namespace fabricgauge::path
