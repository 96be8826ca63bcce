// The open provider of a launch over libfabric, at an address or a device of this node.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstdint>
#include <memory>
#include <string>

#include "fabricgauge/ofi_library.hpp"
#include "fabricgauge/ofi_options.hpp"
#include "fabricgauge/pair_limits.hpp"
#include "fabricgauge/pin.hpp"

namespace fabricgauge {

// The limits of a launch: the least of all ranks' limits. Ranks send it unchanged.
struct OfiLimits {
    std::int64_t message_bytes = 0;
    Abilities abilities = Abilities::messages;
    bool delivery = false;  // true if a put's completion confirms its arrival

    OfiLimits least(const OfiLimits& other) const noexcept;
};

class OfiDomain {
public:
    // `library` must outlive it. Providers that have addresses use this node's `own`, where there is
    // one. Throws OfiError.
    OfiDomain(const OfiLibrary& library, const OfiOptions& options, const LocalAddress& own);

    const OfiLibrary& library() const noexcept { return library_; }
    const OfiLimits& limits() const noexcept { return limits_; }
    fi_info& info() const noexcept { return *info_; }
    std::string provider() const { return info_->fabric_attr->prov_name; }
    std::string name() const { return info_->domain_attr->name; }
    bool tagged() const noexcept { return (info_->caps & FI_TAGGED) != 0; }
    bool connected() const noexcept { return info_->ep_attr->type == FI_EP_MSG; }
    fid_fabric* fabric() const noexcept { return fabric_.get(); }
    fid_domain* domain() const noexcept { return domain_.get(); }

private:
    // The required properties of an endpoint and of its completions.
    struct Wanted {
        std::uint64_t capabilities;
        std::uint64_t completion;
    };
    using Info = std::unique_ptr<fi_info, void (*)(fi_info*)>;

    Info find(const LocalAddress& own) const;
    Info find_at(const LocalAddress& at, std::uint64_t messages, bool elsewhere) const;
    Info ask(const LocalAddress& own, fi_ep_type type, const Wanted& wanted) const;
    bool fits(const fi_info& info, bool elsewhere) const;
    bool has_atomics() const;

    const OfiLibrary& library_;
    OfiOptions options_;
    Info info_;
    OfiOwned<fid_fabric> fabric_;
    OfiOwned<fid_domain> domain_;
    OfiLimits limits_;
};

}  // namespace fabricgauge
