// Whether the MPI says that it can carry memory of a GPU.
#pragma once

#include <string>

#include "fabricgauge/device_memory.hpp"

namespace fabricgauge {

// Empty if it says so, else why the launch is refused: an MPI that cannot reads such an address as the
// host's and crashes. After MPI has started, since not all MPIs know it earlier.
std::string missing_gpu_support(const DeviceMemory& device);

}  // namespace fabricgauge
