#include "fabricgauge/device_memory.hpp"

#include <cstdlib>

#include "fabricgauge/number.hpp"
#include "fabricgauge/placement.hpp"

namespace fabricgauge {

const char* name_of(MemoryKind kind) noexcept {
    switch (kind) {
        case MemoryKind::host: return "host";
        case MemoryKind::cuda: return "cuda";
        case MemoryKind::hip: return "hip";
        case MemoryKind::managed: return "managed";
    }
    return "";
}

int DeviceChoice::of(int count, const char* vendor) const {
    if (count < 1)
        throw DeviceError(node + " has no " + vendor + " device that its driver shows to this process");
    const int chosen = device.value_or(local_rank % count);
    if (chosen >= count)
        throw DeviceError(node + " has no " + vendor + " device " + std::to_string(chosen) +
                          ": its driver shows " + std::to_string(count) + ", numbered from 0");
    return chosen;
}

// Open MPI; MPICH and Intel MPI, by Hydra; MVAPICH2; Slurm; PALS of HPE Cray; Flux.
int local_rank_before_mpi() {
    for (const char* const name :
         {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK",
          "SLURM_LOCALID", "PALS_LOCAL_RANKID", "FLUX_TASK_LOCAL_ID"}) {
        const char* const text = std::getenv(name);
        if (text == nullptr) continue;
        const std::optional<std::int64_t> rank = whole_number(text);
        if (rank && *rank >= 0 && *rank < 1'000'000) return static_cast<int>(*rank);
    }
    return 0;
}

namespace {

std::unique_ptr<DeviceMemory> open_managed(const DeviceChoice& choice) {
    try {
        return open_cuda(choice, true);
    } catch (const DeviceError& cuda) {
        try {
            return open_hip(choice, true);
        } catch (const DeviceError& hip) {
            throw DeviceError(std::string(cuda.what()) + "; and " + hip.what());
        }
    }
}

}  // namespace

std::unique_ptr<DeviceMemory> open_device(MemoryKind kind, const DeviceChoice& choice) {
    switch (kind) {
        case MemoryKind::cuda: return open_cuda(choice, false);
        case MemoryKind::hip: return open_hip(choice, false);
        case MemoryKind::managed: return open_managed(choice);
        case MemoryKind::host: break;
    }
    return nullptr;
}

OpenedDevice::OpenedDevice(const MemoryOptions& options) {
    if (!options.on_device()) return;
    try {
        memory = open_device(options.device_kind(),
                             {find_placement().host, options.device, local_rank_before_mpi()});
    } catch (const DeviceError& error) {
        missing = error.what();
    }
}

}  // namespace fabricgauge
