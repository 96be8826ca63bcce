#if __has_include(<infiniband/verbs.h>)

#include "fabricgauge/verbs_library.hpp"

#include <dlfcn.h>

#include "fabricgauge/rdma_ports.hpp"

namespace fabricgauge {

namespace {

template <typename Function>
void bind(void* library, Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    if (function == nullptr)
        throw RdmaError(std::string("libibverbs has no ") + name +
                        ": install a libibverbs of rdma-core");
}

}  // namespace

// It stays loaded until the process ends, as its drivers' threads and the MPI may use it too.
VerbsLibrary load_verbs(const char* name) {
    void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        throw RdmaError("libibverbs cannot be loaded (" + std::string(dlerror()) +
                        "): install it on every node, Debian's libibverbs1 and ibverbs-providers or"
                        " Red Hat's libibverbs");
    VerbsLibrary verbs;
    bind(library, verbs.get_device_list, "ibv_get_device_list");
    bind(library, verbs.free_device_list, "ibv_free_device_list");
    bind(library, verbs.open_device, "ibv_open_device");
    bind(library, verbs.close_device, "ibv_close_device");
    bind(library, verbs.query_device, "ibv_query_device");
    bind(library, verbs.query_port, "ibv_query_port");
    bind(library, verbs.alloc_pd, "ibv_alloc_pd");
    bind(library, verbs.dealloc_pd, "ibv_dealloc_pd");
    bind(library, verbs.reg_mr, "ibv_reg_mr");
    bind(library, verbs.dereg_mr, "ibv_dereg_mr");
    bind(library, verbs.create_cq, "ibv_create_cq");
    bind(library, verbs.destroy_cq, "ibv_destroy_cq");
    bind(library, verbs.create_qp, "ibv_create_qp");
    bind(library, verbs.modify_qp, "ibv_modify_qp");
    bind(library, verbs.destroy_qp, "ibv_destroy_qp");
    bind(library, verbs.create_srq, "ibv_create_srq");
    bind(library, verbs.destroy_srq, "ibv_destroy_srq");
    bind(library, verbs.create_ah, "ibv_create_ah");
    bind(library, verbs.destroy_ah, "ibv_destroy_ah");
    bind(library, verbs.wc_status_str, "ibv_wc_status_str");
    Dl_info file{};
    if (dladdr(reinterpret_cast<void*>(verbs.open_device), &file) != 0) verbs.path = file.dli_fname;
    return verbs;
}

}  // namespace fabricgauge

#endif
