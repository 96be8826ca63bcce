// libibverbs, opened at run time: an engine runs on nodes that do not have it.
//
// Functions that post work and poll for completions are inline in the library's header and go
// through the device's table, so that the measuring loop calls the driver directly.
#pragma once

#include <infiniband/verbs.h>

#include <string>

namespace fabricgauge {

struct VerbsLibrary {
    std::string path;  // of the file that was loaded

    ibv_device** (*get_device_list)(int* count) = nullptr;
    void (*free_device_list)(ibv_device** list) = nullptr;
    ibv_context* (*open_device)(ibv_device* device) = nullptr;
    int (*close_device)(ibv_context* context) = nullptr;
    int (*query_device)(ibv_context* context, ibv_device_attr* attributes) = nullptr;
    // Declared with an older, shorter structure, which it fills the beginning of.
    int (*query_port)(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attributes) =
        nullptr;
    ibv_pd* (*alloc_pd)(ibv_context* context) = nullptr;
    int (*dealloc_pd)(ibv_pd* domain) = nullptr;
    ibv_mr* (*reg_mr)(ibv_pd* domain, void* memory, std::size_t bytes, int access) = nullptr;
    int (*dereg_mr)(ibv_mr* region) = nullptr;
    ibv_cq* (*create_cq)(ibv_context* context, int entries, void* own, ibv_comp_channel* channel,
                         int vector) = nullptr;
    int (*destroy_cq)(ibv_cq* queue) = nullptr;
    ibv_qp* (*create_qp)(ibv_pd* domain, ibv_qp_init_attr* attributes) = nullptr;
    int (*modify_qp)(ibv_qp* pair, ibv_qp_attr* attributes, int mask) = nullptr;
    int (*destroy_qp)(ibv_qp* pair) = nullptr;
    ibv_srq* (*create_srq)(ibv_pd* domain, ibv_srq_init_attr* attributes) = nullptr;
    int (*destroy_srq)(ibv_srq* queue) = nullptr;
    ibv_ah* (*create_ah)(ibv_pd* domain, ibv_ah_attr* attributes) = nullptr;
    int (*destroy_ah)(ibv_ah* handle) = nullptr;
    const char* (*wc_status_str)(ibv_wc_status status) = nullptr;
};

// Throws RdmaError with the missing part and the package to install.
VerbsLibrary load_verbs(const char* name = "libibverbs.so.1");

}  // namespace fabricgauge
