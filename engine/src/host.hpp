// The kind of host of this build.
#pragma once

#ifdef FABRICGAUGE_SIMULATED
#include "simulated_host.hpp"
#else
#include "fabricgauge/real_host.hpp"
#endif

namespace fabricgauge {

#ifdef FABRICGAUGE_SIMULATED
using Host = SimulatedHost;
#else
using Host = RealHost;
#endif

}  // namespace fabricgauge
