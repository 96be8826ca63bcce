// The check that the MPI reports support for a GPU's memory.
#pragma once

#include <string>

#include "fabricgauge/device_memory.hpp"

namespace fabricgauge {

// Empty if it reports support, else the reason to refuse the launch: an MPI without support reads
// such an address as the host's and crashes. Call it after MPI has started, since some MPIs do not
// know it earlier.
std::string missing_gpu_support(const DeviceMemory& device);

}  // namespace fabricgauge
