// HIP's run-time interface. Types and values are those of hip_runtime_api.h of ROCm 6.0.
#include <cstddef>

#include "fabricgauge/device_library.hpp"

namespace fabricgauge {

namespace {

using HipResult = int;

constexpr HipResult hip_success = 0;
constexpr HipResult hip_out_of_memory = 2;
constexpr HipResult hip_no_device = 100;
constexpr int host_to_device = 1;
constexpr int device_to_host = 2;
constexpr unsigned attach_global = 1;

constexpr const char* no_runtime = "there is no HIP of ROCm";

struct Hip {
    HipResult (*init)(unsigned flags);
    HipResult (*device_count)(int* count);
    HipResult (*set_device)(int number);
    HipResult (*device_name)(char* name, int bytes, int device);
    HipResult (*allocate)(void** memory, std::size_t bytes);
    HipResult (*allocate_managed)(void** memory, std::size_t bytes, unsigned flags);
    HipResult (*release)(void* memory);
    HipResult (*set)(void* memory, int value, std::size_t bytes);
    HipResult (*copy)(void* to, const void* from, std::size_t bytes, int kind);
    HipResult (*allocate_locked)(void** memory, std::size_t bytes, unsigned flags);
    HipResult (*release_locked)(void* memory);
    HipResult (*synchronise)();
    const char* (*error_string)(HipResult result);
};

Hip load_hip(const char* name, const std::string& node) {
    const DeviceLibrary library(name, node, no_runtime);
    Hip hip{};
    library.bind(hip.init, "hipInit");
    library.bind(hip.device_count, "hipGetDeviceCount");
    library.bind(hip.set_device, "hipSetDevice");
    library.bind(hip.device_name, "hipDeviceGetName");
    library.bind(hip.allocate, "hipMalloc");
    library.bind(hip.allocate_managed, "hipMallocManaged");
    library.bind(hip.release, "hipFree");
    library.bind(hip.set, "hipMemset");
    library.bind(hip.copy, "hipMemcpy");
    library.bind(hip.allocate_locked, "hipHostMalloc");
    library.bind(hip.release_locked, "hipHostFree");
    library.bind(hip.synchronise, "hipDeviceSynchronize");
    library.bind(hip.error_string, "hipGetErrorString");
    return hip;
}

class HipMemory : public DeviceMemory {
public:
    HipMemory(const DeviceChoice& choice, bool managed, const char* library)
        : hip_(load_hip(library, choice.node)), node_(choice.node), managed_(managed) {
        int count = 0;
        const HipResult started = hip_.init(0);
        if (started != hip_no_device) require(started, "hipInit");
        const HipResult counted = hip_.device_count(&count);
        if (counted != hip_no_device) require(counted, "hipGetDeviceCount");
        number_ = choice.of(count, "AMD");
        enter();
        char name[128] = "";
        require(hip_.device_name(name, sizeof name - 1, number_), "hipDeviceGetName");
        name_ = name;
    }

    std::string device_name() const override { return name_; }
    int device_number() const override { return number_; }
    const char* interface() const noexcept override { return "hip"; }
    void enter() const override { require(hip_.set_device(number_), "hipSetDevice"); }

    std::byte* allocate(std::int64_t bytes, int value) override {
        enter();
        const auto size = static_cast<std::size_t>(bytes);
        void* memory = nullptr;
        const HipResult result = managed_ ? hip_.allocate_managed(&memory, size, attach_global)
                                          : hip_.allocate(&memory, size);
        if (result == hip_out_of_memory) throw out_of_device_memory(*this, node_, bytes);
        require(result, managed_ ? "hipMallocManaged" : "hipMalloc");
        auto* const found = static_cast<std::byte*>(memory);
        try {
            require(hip_.set(memory, value, size), "hipMemset");
            synchronise();
        } catch (const DeviceError&) {
            release(found);
            throw;
        }
        return found;
    }

    void release(std::byte* memory) noexcept override {
        hip_.set_device(number_);
        hip_.release(memory);
    }

    void to_device(std::byte* memory, const std::byte* host, std::int64_t bytes) override {
        copy(memory, host, bytes, host_to_device);
    }
    void to_host(std::byte* host, const std::byte* memory, std::int64_t bytes) override {
        copy(host, memory, bytes, device_to_host);
    }

    std::byte* allocate_locked(std::int64_t bytes) override {
        enter();
        void* memory = nullptr;
        require(hip_.allocate_locked(&memory, static_cast<std::size_t>(bytes), 0), "hipHostMalloc");
        return static_cast<std::byte*>(memory);
    }

    void release_locked(std::byte* memory) noexcept override {
        hip_.set_device(number_);
        hip_.release_locked(memory);
    }

private:
    void copy(std::byte* to, const std::byte* from, std::int64_t bytes, int kind) const {
        enter();
        require(hip_.copy(to, from, static_cast<std::size_t>(bytes), kind), "hipMemcpy");
        synchronise();
    }

    void synchronise() const { require(hip_.synchronise(), "hipDeviceSynchronize"); }

    void require(HipResult result, const char* call) const {
        if (result == hip_success) return;
        const char* const text = hip_.error_string(result);
        throw DeviceError(std::string(call) + " failed on " + node_ + ": error " +
                          std::to_string(result) + (text != nullptr ? std::string(", ") + text : ""));
    }

    Hip hip_;
    std::string node_;
    bool managed_;
    std::string name_;
    int number_ = 0;
};

}  // namespace

std::unique_ptr<DeviceMemory> open_hip(const DeviceChoice& choice, bool managed,
                                       const char* library) {
    return std::make_unique<HipMemory>(choice, managed, library);
}

}  // namespace fabricgauge
