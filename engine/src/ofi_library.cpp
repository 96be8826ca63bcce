// SimGrid has a macro with the name of a member of libfabric's.
#if __has_include(<rdma/fabric.h>) && !defined(FABRICGAUGE_SIMULATED)

#include "fabricgauge/ofi_library.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "fabricgauge/ofi_options.hpp"

namespace fabricgauge {

namespace {

// The oldest libfabric with these versions of its calls is 1.9.
constexpr const char* info_abi = "FABRIC_1.3";
constexpr const char* fabric_abi = "FABRIC_1.1";
constexpr const char* first_abi = "FABRIC_1.0";

// A later default version may take structures that are longer than those of the header.
template <typename Function>
void bind(void* library, Function*& function, const char* name, const char* version) {
    function = reinterpret_cast<Function*>(dlvsym(library, name, version));
    if (function == nullptr)
        throw OfiError(std::string("libfabric has no ") + name + " of " + version +
                       ": install libfabric 1.9 or later");
}

}  // namespace

// It stays loaded until the process ends, as its providers' threads and the MPI may use it too. One
// that the MPI brought with it is the one that is found.
OfiLibrary load_ofi(const char* name) {
    void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        throw OfiError("libfabric cannot be loaded (" + std::string(dlerror()) +
                       "): install it on every node, Debian's libfabric1 or Red Hat's libfabric");
    OfiLibrary ofi;
    bind(library, ofi.getinfo, "fi_getinfo", info_abi);
    bind(library, ofi.freeinfo, "fi_freeinfo", info_abi);
    bind(library, ofi.dupinfo, "fi_dupinfo", info_abi);
    bind(library, ofi.fabric, "fi_fabric", fabric_abi);
    bind(library, ofi.strerror, "fi_strerror", first_abi);
    bind(library, ofi.version, "fi_version", first_abi);
    Dl_info file{};
    if (dladdr(reinterpret_cast<void*>(ofi.version), &file) != 0) ofi.path = file.dli_fname;
    return ofi;
}

std::string OfiLibrary::version_text() const {
    return std::to_string(FI_MAJOR(version())) + "." + std::to_string(FI_MINOR(version()));
}

std::string OfiLibrary::with_reason(const std::string& what, std::int64_t error) const {
    return what + ": " + strerror(static_cast<int>(std::abs(error)));
}

}  // namespace fabricgauge

#endif
