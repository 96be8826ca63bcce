// libfabric (OFI), opened at run time: an engine runs on nodes that do not have it.
//
// Functions that post operations and read completions are inline in libfabric's headers and go
// through the objects' tables, so that the measuring loop calls the provider directly.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>
#include <memory>
#include <string>

namespace fabricgauge {

struct OfiLibrary {
    std::string path;  // of the file that was loaded

    int (*getinfo)(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
                   const fi_info* hints, fi_info** found) = nullptr;
    void (*freeinfo)(fi_info* list) = nullptr;
    fi_info* (*dupinfo)(const fi_info* info) = nullptr;
    int (*fabric)(fi_fabric_attr* attributes, fid_fabric** opened, void* own) = nullptr;
    const char* (*strerror)(int error) = nullptr;
    std::uint32_t (*version)() = nullptr;

    std::string version_text() const;
    // "what failed: Cannot allocate memory"
    std::string with_reason(const std::string& what, std::int64_t error) const;
};

// Throws OfiError with the missing part and the package to install.
OfiLibrary load_ofi(const char* name = "libfabric.so.1");

template <typename Object>
struct OfiClose {
    void operator()(Object* object) const noexcept { fi_close(&object->fid); }
};
// An object of libfabric, which is closed with its owner.
template <typename Object>
using OfiOwned = std::unique_ptr<Object, OfiClose<Object>>;

}  // namespace fabricgauge
