#include "fabricgauge/device_library.hpp"

#include <dlfcn.h>

namespace fabricgauge {

// It stays loaded until the process ends, as the MPI uses it too.
DeviceLibrary::DeviceLibrary(const char* name, const std::string& node, const char* lacking)
    : library_(dlopen(name, RTLD_NOW | RTLD_LOCAL)), name_(name), node_(node) {
    if (library_ != nullptr) return;
    const char* const reason = dlerror();
    throw DeviceError("no " + name_ + " on " + node + ": " + lacking + " (" +
                      (reason != nullptr ? reason : "dlopen failed") + ")");
}

void* DeviceLibrary::address_of(const char* name) const {
    void* const found = dlsym(library_, name);
    if (found == nullptr)
        throw DeviceError(name_ + " on " + node_ + " has no " + name +
                          ": the driver is too old; install a newer one");
    return found;
}

DeviceError out_of_device_memory(const DeviceMemory& device, const std::string& node,
                                 std::int64_t bytes) {
    return DeviceError(device.device_name() + " (device " + std::to_string(device.device_number()) +
                       ") of " + node + " is out of memory: " + std::to_string(bytes) +
                       " B were asked for; choose a smaller window or message, or end what else uses"
                       " the device");
}

}  // namespace fabricgauge
