// The part of CUDA's driver interface that these programs use (names and types of cuda.h 12.4).
//
// It shares no code with the engine: the programs are a second, independent measurement.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace proof {

inline void fail(const std::string& sentence) {
    std::fprintf(stderr, "%s\n", sentence.c_str());
    std::exit(69);
}

class Library {
public:
    explicit Library(const char* name) : name_(name), handle_(dlopen(name, RTLD_NOW | RTLD_GLOBAL)) {
        if (handle_ == nullptr) fail(std::string("cannot open ") + name + ": " + dlerror());
    }

    template <typename Function>
    void bind(Function& function, const char* symbol) const {
        function = reinterpret_cast<Function>(dlsym(handle_, symbol));
        if (function == nullptr) fail(std::string(name_) + " has no " + symbol);
    }

private:
    const char* name_;
    void* handle_;
};

using Pointer = unsigned long long;

// One GPU with its primary context, current in this thread.
class Gpu {
public:
    explicit Gpu(int number) : library_("libcuda.so.1") {
        int (*init)(unsigned) = nullptr;
        int (*get)(int*, int) = nullptr;
        int (*name)(char*, int, int) = nullptr;
        int (*retain)(void**, int) = nullptr;
        int (*set_current)(void*) = nullptr;
        library_.bind(init, "cuInit");
        library_.bind(get, "cuDeviceGet");
        library_.bind(name, "cuDeviceGetName");
        library_.bind(retain, "cuDevicePrimaryCtxRetain");
        library_.bind(set_current, "cuCtxSetCurrent");
        library_.bind(allocate_, "cuMemAlloc_v2");
        library_.bind(allocate_managed_, "cuMemAllocManaged");
        library_.bind(allocate_locked_, "cuMemAllocHost_v2");
        library_.bind(release_, "cuMemFree_v2");
        library_.bind(set_, "cuMemsetD8_v2");
        library_.bind(to_device_, "cuMemcpyHtoD_v2");
        library_.bind(to_host_, "cuMemcpyDtoH_v2");
        library_.bind(synchronise_, "cuCtxSynchronize");
        int device = 0;
        void* context = nullptr;
        char words[128] = "";
        require(init(0), "cuInit");
        require(get(&device, number), "cuDeviceGet");
        require(name(words, sizeof words - 1, device), "cuDeviceGetName");
        require(retain(&context, device), "cuDevicePrimaryCtxRetain");
        require(set_current(context), "cuCtxSetCurrent");
        name_ = words;
    }

    const std::string& name() const { return name_; }
    const Library& library() const { return library_; }

    Pointer allocate(std::size_t bytes, bool managed = false) {
        Pointer memory = 0;
        require(managed ? allocate_managed_(&memory, bytes, 1) : allocate_(&memory, bytes),
                managed ? "cuMemAllocManaged" : "cuMemAlloc");
        fill(memory, 0, bytes);
        return memory;
    }

    // Returns false if the GPU has no room for that many bytes.
    bool try_to_allocate(std::size_t bytes) {
        Pointer memory = 0;
        const int result = allocate_(&memory, bytes);
        if (result != 0 && result != out_of_memory) require(result, "cuMemAlloc");
        return result == 0;
    }

    void* allocate_locked(std::size_t bytes) {
        void* memory = nullptr;
        require(allocate_locked_(&memory, bytes), "cuMemAllocHost");
        return memory;
    }

    void fill(Pointer memory, unsigned char value, std::size_t bytes) {
        require(set_(memory, value, bytes), "cuMemsetD8");
        synchronise();
    }

    void to_device(Pointer memory, const void* host, std::size_t bytes) {
        require(to_device_(memory, host, bytes), "cuMemcpyHtoD");
        synchronise();
    }

    void to_host(void* host, Pointer memory, std::size_t bytes) {
        require(to_host_(host, memory, bytes), "cuMemcpyDtoH");
        synchronise();
    }

    void synchronise() { require(synchronise_(), "cuCtxSynchronize"); }

    static void require(int result, const char* call) {
        if (result != 0) fail(std::string(call) + " failed with CUDA error " + std::to_string(result));
    }

private:
    static constexpr int out_of_memory = 2;

    Library library_;
    std::string name_;
    int (*allocate_)(Pointer*, std::size_t) = nullptr;
    int (*allocate_managed_)(Pointer*, std::size_t, unsigned) = nullptr;
    int (*allocate_locked_)(void**, std::size_t) = nullptr;
    int (*release_)(Pointer) = nullptr;
    int (*set_)(Pointer, unsigned char, std::size_t) = nullptr;
    int (*to_device_)(Pointer, const void*, std::size_t) = nullptr;
    int (*to_host_)(void*, Pointer, std::size_t) = nullptr;
    int (*synchronise_)() = nullptr;
};

}  // namespace proof
