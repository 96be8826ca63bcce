// A driver's library that is opened at run time, and its functions by name.
#pragma once

#include <string>

#include "fabricgauge/device_memory.hpp"

namespace fabricgauge {

class DeviceLibrary {
public:
    // `lacking` ends the sentence of the error if this node has no such library.
    DeviceLibrary(const char* name, const std::string& node, const char* lacking);

    template <typename Function>
    void bind(Function*& function, const char* name) const {
        function = reinterpret_cast<Function*>(address_of(name));
    }

private:
    void* address_of(const char* name) const;

    void* library_;
    std::string name_;
    std::string node_;
};

// The sentence for an allocation that the device has no room for.
DeviceError out_of_device_memory(const DeviceMemory& device, const std::string& node,
                                 std::int64_t bytes);

}  // namespace fabricgauge
