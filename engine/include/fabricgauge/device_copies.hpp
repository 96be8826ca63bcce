// What copies between the host and a device take: the most that an MPI can reach which carries the
// messages of a GPU through the host's memory, and what the GPU's slot lets through.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabricgauge/device_memory.hpp"

namespace fabricgauge {

// Medians over several copies, each with its synchronisation.
struct CopyTimes {
    std::int64_t bytes;
    double to_device_s;
    double to_host_s;
};

// Of each size once, ascending, without empty ones; between locked host memory and the device's.
// Sizes that there is no memory for are left out. Throws DeviceError if a copy fails.
std::vector<CopyTimes> copy_times(DeviceMemory& device, std::vector<std::int64_t> sizes);

// As a JSON array.
std::string copies_text(const std::vector<CopyTimes>& copies);

}  // namespace fabricgauge
