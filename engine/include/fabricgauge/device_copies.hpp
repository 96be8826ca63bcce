// Times of copies between host and device. They bound an MPI that carries a GPU's messages through
// host memory, and show the rate of the GPU's slot.
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

// Copies each size once, ascending, without empty ones, between locked host memory and the
// device's. Omits sizes for which there is no memory. Throws DeviceError if a copy fails.
std::vector<CopyTimes> copy_times(DeviceMemory& device, std::vector<std::int64_t> sizes);

// As a JSON array.
std::string copies_text(const std::vector<CopyTimes>& copies);

}  // namespace fabricgauge
