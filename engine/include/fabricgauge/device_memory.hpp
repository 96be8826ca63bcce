// Memory of a GPU, by its driver's library, which is opened at run time: an engine is built on and runs
// on nodes that have no GPU.
//
// Nothing here is called in a timed part: memory is allocated and touched before it, and copied to and
// from the host around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace fabricgauge {

// Managed memory is moved by the driver between host and device: CUDA's where there is one, else HIP's.
enum class MemoryKind { host, cuda, hip, managed };

const char* name_of(MemoryKind kind) noexcept;

// The memory of the buffers at each end of a pair.
struct MemoryOptions {
    MemoryKind origin = MemoryKind::host;
    MemoryKind target = MemoryKind::host;
    std::optional<int> device;  // without it each rank of a node has the next one

    bool on_device() const noexcept {
        return origin != MemoryKind::host || target != MemoryKind::host;
    }
    // The kind of the ends that are not in host memory; a launch has one kind.
    MemoryKind device_kind() const noexcept {
        return origin != MemoryKind::host ? origin : target;
    }
};

// The reason why this node has no memory on a device, or the error of its driver.
class DeviceError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The same where all ranks know it, before a case was begun.
class MissingDevice : public DeviceError {
public:
    using DeviceError::DeviceError;
};

// One device of this node. Calls throw DeviceError; copies have ended when they return.
class DeviceMemory {
public:
    virtual ~DeviceMemory() = default;

    virtual std::string device_name() const = 0;
    virtual int device_number() const = 0;
    // By whose library: "cuda" or "hip".
    virtual const char* interface() const noexcept = 0;

    // Makes it the device of the calling thread. Calls here do so for themselves; a thread that hands
    // device memory to MPI needs it too.
    virtual void enter() const = 0;

    // Memory whose every byte is `value`, so that all of it was touched.
    virtual std::byte* allocate(std::int64_t bytes, int value) = 0;
    virtual void release(std::byte* memory) noexcept = 0;
    virtual void to_device(std::byte* memory, const std::byte* host, std::int64_t bytes) = 0;
    virtual void to_host(std::byte* host, const std::byte* memory, std::int64_t bytes) = 0;

    // Page-locked memory of the host, which a device copies from and to without a detour.
    virtual std::byte* allocate_locked(std::int64_t bytes) = 0;
    virtual void release_locked(std::byte* memory) noexcept = 0;
};

// The choice of a device of this node, and the node's name for messages.
struct DeviceChoice {
    std::string node;
    std::optional<int> device;
    int local_rank;

    // Throws DeviceError if the node has no such device.
    int of(int count, const char* vendor) const;
};

// Each throws DeviceError with the part that this node lacks.
std::unique_ptr<DeviceMemory> open_cuda(const DeviceChoice& choice, bool managed,
                                        const char* library = "libcuda.so.1");
std::unique_ptr<DeviceMemory> open_hip(const DeviceChoice& choice, bool managed,
                                       const char* library = "libamdhip64.so");
std::unique_ptr<DeviceMemory> open_device(MemoryKind kind, const DeviceChoice& choice);

// This process's number among those of its node, as its launcher sets it before MPI has started; 0
// if the launcher sets none.
int local_rank_before_mpi();

// A rank's device, opened before MPI starts, or the reason why it has none. A rank whose end is in
// host memory needs none.
struct OpenedDevice {
    explicit OpenedDevice(const MemoryOptions& options);

    std::unique_ptr<DeviceMemory> memory;
    std::string missing;
};

}  // namespace fabricgauge
