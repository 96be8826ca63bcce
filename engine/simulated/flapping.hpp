// A link that has less than its rate now and then.
//
// SimGrid 3.32 takes a profile of a link's bandwidth before the routes are known only, so a message's
// share is worked out when it begins, as if it had the link to itself.
#pragma once

#include "planted.hpp"

namespace fabricgauge::simulated {

// The mean share of the link's rate, the fault's factor to 1, of a message that begins at start_s
// and would take full_s at the full rate.
double flapping_share(const FlappingFault& fault, double start_s, double full_s) noexcept;

}  // namespace fabricgauge::simulated
