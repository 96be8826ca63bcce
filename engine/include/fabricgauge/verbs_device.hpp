// An RDMA device that is open at one port, and memory that is registered with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "fabricgauge/rdma_ports.hpp"
#include "fabricgauge/verbs_library.hpp"
#include "fabricgauge/verbs_options.hpp"

namespace fabricgauge {

// The limits of a launch: the least of all ranks' limits. Ranks send it unchanged.
struct VerbsLimits {
    std::int64_t path_mtu_bytes = 0;
    std::int64_t inline_bytes = 0;
    std::int64_t message_bytes = 0;
    std::int64_t requests = 0;  // of one queue
    std::int64_t reads = 0;     // reads and atomics that may be under way at once
    std::int64_t atomics = 0;   // 0: it has none
    std::int64_t shared_receives = 0;  // of one queue that queue pairs share; 0: it has none

    VerbsLimits least(const VerbsLimits& other) const noexcept;
};

class VerbsDevice {
public:
    // `library` must outlive it. Throws RdmaError.
    VerbsDevice(const VerbsLibrary& library, const RdmaPort& port, const Gid& gid,
                const VerbsOptions& options);
    ~VerbsDevice();
    VerbsDevice(const VerbsDevice&) = delete;
    VerbsDevice& operator=(const VerbsDevice&) = delete;

    const VerbsLibrary& verbs() const noexcept { return verbs_; }
    const VerbsOptions& options() const noexcept { return options_; }
    const VerbsLimits& limits() const noexcept { return limits_; }
    const RdmaPort& port() const noexcept { return port_; }
    const Gid& gid() const noexcept { return gid_; }
    std::uint16_t lid() const noexcept { return attributes_.lid; }
    // Return true if peers are addressed by GID, not by LID alone.
    bool is_global() const noexcept { return attributes_.link_layer == IBV_LINK_LAYER_ETHERNET; }
    ibv_context* context() const noexcept { return context_.get(); }
    ibv_pd* domain() const noexcept { return domain_.get(); }
    // The domain of extended connections; null for other kinds.
    ibv_xrcd* extended_domain() const noexcept { return extended_.get(); }

    // The attributes of a sending queue pair of the launch's kind, with `receives` separate
    // receives.
    ibv_qp_init_attr queue_pair(ibv_cq* completions, std::int64_t sends, std::int64_t receives,
                                std::int64_t inline_bytes) const noexcept;

    // As JSON.
    std::string description(int rank) const;

private:
    using Context = std::unique_ptr<ibv_context, int (*)(ibv_context*)>;
    using Domain = std::unique_ptr<ibv_pd, int (*)(ibv_pd*)>;
    using ExtendedDomain = std::unique_ptr<ibv_xrcd, int (*)(ibv_xrcd*)>;

    Context open() const;
    void query();
    ExtendedDomain open_extended() const;
    VerbsLimits find_limits() const;
    std::int64_t inline_limit() const;

    const VerbsLibrary& verbs_;
    RdmaPort port_;
    Gid gid_;
    VerbsOptions options_;
    Context context_;
    Domain domain_;
    ExtendedDomain extended_{nullptr, nullptr};
    ibv_device_attr known_{};
    ibv_port_attr attributes_{};
    VerbsLimits limits_;
};

// Memory that the device reads and writes by itself, for as long as the value lives.
class VerbsMemory {
public:
    VerbsMemory() = default;
    // Throws RdmaError with the limit of locked memory, which is the usual reason.
    VerbsMemory(const VerbsDevice& device, std::byte* memory, std::int64_t bytes);

    explicit operator bool() const noexcept { return region_ != nullptr; }
    std::uint32_t local_key() const noexcept { return region_->lkey; }
    std::uint32_t remote_key() const noexcept { return region_->rkey; }

private:
    std::unique_ptr<ibv_mr, int (*)(ibv_mr*)> region_{nullptr, nullptr};
};

// A queue of receives that queue pairs share.
using SharedReceives = std::unique_ptr<ibv_srq, int (*)(ibv_srq*)>;

// Throws RdmaError. Receives of extended connections have a separate queue of `completions`.
SharedReceives share_receives(const VerbsDevice& device, std::int64_t receives,
                              ibv_cq* completions = nullptr);

using QueuePair = std::unique_ptr<ibv_qp, int (*)(ibv_qp*)>;

// The receiving end of a peer's extended connections. Throws RdmaError.
QueuePair extended_receiver(const VerbsDevice& device);

// The type of the sending queue pair.
ibv_qp_type type_of(QueuePairKind kind) noexcept;
std::int64_t bytes_of(ibv_mtu mtu) noexcept;
ibv_mtu mtu_of(std::int64_t bytes) noexcept;

// "what failed: Cannot allocate memory"
std::string with_reason(const std::string& what, int error);

}  // namespace fabricgauge
