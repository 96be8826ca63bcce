// CUDA's driver interface. Types, values and names of versioned functions are those of cuda.h 12.4.
#include <cstddef>

#include "fabricgauge/device_library.hpp"

namespace fabricgauge {

namespace {

using CudaResult = int;
using CudaDevice = int;
using CudaContext = void*;
using CudaPointer = unsigned long long;

constexpr CudaResult cuda_success = 0;
constexpr CudaResult cuda_out_of_memory = 2;
constexpr CudaResult cuda_device_unavailable = 46;
constexpr CudaResult cuda_no_device = 100;
constexpr unsigned attach_global = 1;
// Primary contexts came with CUDA 7.0.
constexpr int oldest_version = 7000;

constexpr const char* no_driver = "there is no NVIDIA driver";

struct Cuda {
    CudaResult (*init)(unsigned flags);
    CudaResult (*driver_version)(int* version);
    CudaResult (*device_count)(int* count);
    CudaResult (*device_get)(CudaDevice* device, int number);
    CudaResult (*device_name)(char* name, int bytes, CudaDevice device);
    CudaResult (*retain_context)(CudaContext* context, CudaDevice device);
    CudaResult (*set_context)(CudaContext context);
    CudaResult (*allocate)(CudaPointer* memory, std::size_t bytes);
    CudaResult (*allocate_managed)(CudaPointer* memory, std::size_t bytes, unsigned flags);
    CudaResult (*release)(CudaPointer memory);
    CudaResult (*set)(CudaPointer memory, unsigned char value, std::size_t bytes);
    CudaResult (*to_device)(CudaPointer memory, const void* host, std::size_t bytes);
    CudaResult (*to_host)(void* host, CudaPointer memory, std::size_t bytes);
    CudaResult (*allocate_locked)(void** memory, std::size_t bytes);
    CudaResult (*release_locked)(void* memory);
    CudaResult (*synchronise)();
    CudaResult (*error_name)(CudaResult result, const char** name);
    CudaResult (*error_string)(CudaResult result, const char** text);
};

Cuda load_cuda(const char* name, const std::string& node) {
    const DeviceLibrary library(name, node, no_driver);
    Cuda cuda{};
    library.bind(cuda.init, "cuInit");
    library.bind(cuda.driver_version, "cuDriverGetVersion");
    library.bind(cuda.device_count, "cuDeviceGetCount");
    library.bind(cuda.device_get, "cuDeviceGet");
    library.bind(cuda.device_name, "cuDeviceGetName");
    library.bind(cuda.retain_context, "cuDevicePrimaryCtxRetain");
    library.bind(cuda.set_context, "cuCtxSetCurrent");
    library.bind(cuda.allocate, "cuMemAlloc_v2");
    library.bind(cuda.allocate_managed, "cuMemAllocManaged");
    library.bind(cuda.release, "cuMemFree_v2");
    library.bind(cuda.set, "cuMemsetD8_v2");
    library.bind(cuda.to_device, "cuMemcpyHtoD_v2");
    library.bind(cuda.to_host, "cuMemcpyDtoH_v2");
    library.bind(cuda.allocate_locked, "cuMemAllocHost_v2");
    library.bind(cuda.release_locked, "cuMemFreeHost");
    library.bind(cuda.synchronise, "cuCtxSynchronize");
    library.bind(cuda.error_name, "cuGetErrorName");
    library.bind(cuda.error_string, "cuGetErrorString");
    return cuda;
}

CudaPointer address_of(const std::byte* memory) { return reinterpret_cast<CudaPointer>(memory); }

class CudaMemory : public DeviceMemory {
public:
    CudaMemory(const DeviceChoice& choice, bool managed, const char* library)
        : cuda_(load_cuda(library, choice.node)), node_(choice.node), managed_(managed) {
        start();
        int count = 0;
        require(cuda_.device_count(&count), "cuDeviceGetCount");
        number_ = choice.of(count, "NVIDIA");
        CudaDevice device = 0;
        require(cuda_.device_get(&device, number_), "cuDeviceGet");
        char name[128] = "";
        require(cuda_.device_name(name, sizeof name - 1, device), "cuDeviceGetName");
        name_ = name;
        hold(device);
    }

    std::string device_name() const override { return name_; }
    int device_number() const override { return number_; }
    const char* interface() const noexcept override { return "cuda"; }
    void enter() const override { require(cuda_.set_context(context_), "cuCtxSetCurrent"); }

    std::byte* allocate(std::int64_t bytes, int value) override {
        enter();
        const auto size = static_cast<std::size_t>(bytes);
        CudaPointer memory = 0;
        const CudaResult result = managed_ ? cuda_.allocate_managed(&memory, size, attach_global)
                                           : cuda_.allocate(&memory, size);
        if (result == cuda_out_of_memory) throw out_of_device_memory(*this, node_, bytes);
        require(result, managed_ ? "cuMemAllocManaged" : "cuMemAlloc_v2");
        auto* const found = reinterpret_cast<std::byte*>(memory);
        try {
            require(cuda_.set(memory, static_cast<unsigned char>(value), size), "cuMemsetD8_v2");
            synchronise();
        } catch (const DeviceError&) {
            release(found);
            throw;
        }
        return found;
    }

    void release(std::byte* memory) noexcept override {
        cuda_.set_context(context_);
        cuda_.release(address_of(memory));
    }

    void to_device(std::byte* memory, const std::byte* host, std::int64_t bytes) override {
        enter();
        require(cuda_.to_device(address_of(memory), host, static_cast<std::size_t>(bytes)),
                "cuMemcpyHtoD_v2");
        synchronise();
    }

    void to_host(std::byte* host, const std::byte* memory, std::int64_t bytes) override {
        enter();
        require(cuda_.to_host(host, address_of(memory), static_cast<std::size_t>(bytes)),
                "cuMemcpyDtoH_v2");
        synchronise();
    }

    std::byte* allocate_locked(std::int64_t bytes) override {
        enter();
        void* memory = nullptr;
        require(cuda_.allocate_locked(&memory, static_cast<std::size_t>(bytes)), "cuMemAllocHost_v2");
        return static_cast<std::byte*>(memory);
    }

    void release_locked(std::byte* memory) noexcept override {
        cuda_.set_context(context_);
        cuda_.release_locked(memory);
    }

private:
    void start() const {
        const CudaResult result = cuda_.init(0);
        if (result == cuda_no_device)
            throw DeviceError(node_ + " has no NVIDIA device that its driver shows to this process");
        require(result, "cuInit");
        int version = 0;
        require(cuda_.driver_version(&version), "cuDriverGetVersion");
        if (version < oldest_version)
            throw DeviceError("the NVIDIA driver of " + node_ + " is too old: it has CUDA " +
                              std::to_string(version / 1000) + "." +
                              std::to_string(version % 1000 / 10) + ", 7.0 is needed");
    }

    // The primary context is the one that CUDA's run-time library, and so most MPIs, use.
    void hold(CudaDevice device) {
        const CudaResult result = cuda_.retain_context(&context_, device);
        if (result == cuda_device_unavailable)
            throw DeviceError(name_ + " (device " + std::to_string(number_) + ") of " + node_ +
                              " is busy: another process has it to itself (compute mode"
                              " EXCLUSIVE_PROCESS or PROHIBITED, see nvidia-smi -q -d COMPUTE)");
        if (result == cuda_out_of_memory) throw out_of_device_memory(*this, node_, 0);
        require(result, "cuDevicePrimaryCtxRetain");
        enter();
    }

    void synchronise() const { require(cuda_.synchronise(), "cuCtxSynchronize"); }

    void require(CudaResult result, const char* call) const {
        if (result == cuda_success) return;
        const char* name = nullptr;
        const char* text = nullptr;
        cuda_.error_name(result, &name);
        cuda_.error_string(result, &text);
        throw DeviceError(std::string(call) + " failed on " + node_ + ": " +
                          (name != nullptr ? name : std::to_string(result)) +
                          (text != nullptr ? std::string(", ") + text : ""));
    }

    Cuda cuda_;
    std::string node_;
    bool managed_;
    std::string name_;
    int number_ = 0;
    CudaContext context_ = nullptr;
};

}  // namespace

std::unique_ptr<DeviceMemory> open_cuda(const DeviceChoice& choice, bool managed,
                                        const char* library) {
    return std::make_unique<CudaMemory>(choice, managed, library);
}

}  // namespace fabricgauge
