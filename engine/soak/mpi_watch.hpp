// The watch of one rank, over MPI.
#pragma once

#include "soak.hpp"

namespace fabricgauge::soak {

// Sends to the next rank and answers the previous one until the time is over for all ranks.
void watch(const Pace& pace);

}  // namespace fabricgauge::soak
