#if __has_include(<rdma/fabric.h>) && !defined(FABRICGAUGE_SIMULATED)

#include "fabricgauge/ofi_domain.hpp"

#include <arpa/inet.h>
#include <rdma/fi_atomic.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "fabricgauge/sockets.hpp"

namespace fabricgauge {

namespace {

constexpr std::uint32_t asked_version = FI_VERSION(1, 9);
constexpr int memory_modes =
    FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;

bool has_ip_addresses(const fi_info& info) {
    return info.addr_format == FI_SOCKADDR || info.addr_format == FI_SOCKADDR_IN ||
           info.addr_format == FI_SOCKADDR_IN6;
}

bool begins_with(const char* text, const std::string& beginning) {
    return text != nullptr && std::strncmp(text, beginning.c_str(), beginning.size()) == 0;
}

void set_source(fi_info& hints, const LocalAddress& own) {
    hints.addr_format = own.address.ss_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
    hints.src_addr = std::malloc(own.octets);
    std::memcpy(hints.src_addr, &own.address, own.octets);
    hints.src_addrlen = own.octets;
}

template <typename Object, typename Open>
OfiOwned<Object> opened(const OfiLibrary& library, const std::string& what, Open&& open) {
    Object* made = nullptr;
    const int error = open(&made);
    if (error != 0) throw OfiError(library.with_reason(what + " cannot be opened", error));
    return OfiOwned<Object>(made);
}

}  // namespace

OfiLimits OfiLimits::least(const OfiLimits& other) const noexcept {
    return {std::min(message_bytes, other.message_bytes), std::min(abilities, other.abilities),
            delivery && other.delivery};
}

OfiDomain::OfiDomain(const OfiLibrary& library, const OfiOptions& options, const LocalAddress& own)
    : library_(library), options_(options), info_(find(own)) {
    const bool remote = (info_->caps & FI_RMA) != 0;
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
    limits_.message_bytes = static_cast<std::int64_t>(std::min(info_->ep_attr->max_msg_size, most));
    limits_.delivery = (info_->tx_attr->op_flags & FI_DELIVERY_COMPLETE) != 0;
    // Asked for with each put alone: messages need no word of their arrival.
    info_->tx_attr->op_flags = 0;
    fabric_ = opened<fid_fabric>(library, "libfabric's " + provider(), [&](fid_fabric** made) {
        return library.fabric(info_->fabric_attr, made, nullptr);
    });
    domain_ = opened<fid_domain>(library, provider() + "'s domain " + name(), [&](fid_domain** made) {
        return fi_domain(fabric_.get(), info_.get(), made, nullptr);
    });
    if (remote) limits_.abilities = has_atomics() ? Abilities::atomics : Abilities::one_sided;
}

bool OfiDomain::has_atomics() const {
    if ((info_->caps & FI_ATOMIC) == 0) return false;
    fi_atomic_attr found{};
    const auto has = [&](fi_op operation, std::uint64_t flags) {
        return fi_query_atomic(domain_.get(), FI_UINT64, operation, &found, flags) == 0;
    };
    return has(FI_SUM, FI_FETCH_ATOMIC) && has(FI_CSWAP, FI_COMPARE_ATOMIC);
}

// At the own address, else where the provider has none; tagged messages before plain ones.
OfiDomain::Info OfiDomain::find(const LocalAddress& own) const {
    for (const bool tagged : {true, false}) {
        if (options_.tagged.value_or(tagged) != tagged) continue;
        const std::uint64_t messages = tagged ? FI_TAGGED : FI_MSG;
        if (Info found = find_at(own, messages, false)) return found;
        if (own.octets == 0) continue;
        if (Info found = find_at({}, messages, true)) return found;
    }
    std::string wanted = options_.provider.empty() ? "no provider" : "no provider " + options_.provider;
    if (own.octets != 0) wanted += " at " + own.interface;
    for (const std::string& domain : options_.domains) wanted += ", domain " + domain;
    if (options_.tagged) wanted += *options_.tagged ? " with tagged messages" : " with plain messages";
    throw OfiError("libfabric " + library_.version_text() + " (" + library_.path + ") has " + wanted +
                   " on this node; fi_info tells what it has");
}

// The most able endpoint: one that needs no connection before one that does.
OfiDomain::Info OfiDomain::find_at(const LocalAddress& at, std::uint64_t messages,
                                   bool elsewhere) const {
    for (const fi_ep_type type : {FI_EP_RDM, FI_EP_MSG})
        for (const Wanted& more : {Wanted{FI_RMA | FI_ATOMIC, FI_DELIVERY_COMPLETE},
                                   Wanted{FI_RMA, FI_DELIVERY_COMPLETE}, Wanted{0, 0}}) {
            const Info list = ask(at, type, {messages | more.capabilities, more.completion});
            for (const fi_info* one = list.get(); one != nullptr; one = one->next)
                if (fits(*one, elsewhere)) return Info(library_.dupinfo(one), library_.freeinfo);
        }
    return Info(nullptr, library_.freeinfo);
}

OfiDomain::Info OfiDomain::ask(const LocalAddress& own, fi_ep_type type, const Wanted& wanted) const {
    const Info hints(library_.dupinfo(nullptr), library_.freeinfo);
    hints->caps = wanted.capabilities;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = type;
    // A side that listens has no endpoint yet to which memory could be bound.
    hints->domain_attr->mr_mode = type == FI_EP_MSG ? memory_modes & ~FI_MR_ENDPOINT : memory_modes;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->control_progress = hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->tx_attr->op_flags = wanted.completion;
    if (!options_.provider.empty()) hints->fabric_attr->prov_name = strdup(options_.provider.c_str());
    if (own.octets != 0) set_source(*hints, own);
    fi_info* found = nullptr;
    library_.getinfo(asked_version, nullptr, nullptr, 0, hints.get(), &found);
    return Info(found, library_.freeinfo);
}

// A provider with IP addresses gets this node's address, or it would take another network. The
// provider must have the exact name: tcp is also the lower layer of tcp;ofi_rxm.
bool OfiDomain::fits(const fi_info& info, bool elsewhere) const {
    // Its connections keep no message that comes before its receive is posted.
    if (info.ep_attr->type == FI_EP_MSG && std::strcmp(info.fabric_attr->prov_name, "verbs") == 0)
        return false;
    if (elsewhere && has_ip_addresses(info)) return false;
    if (!options_.provider.empty() && options_.provider != info.fabric_attr->prov_name) return false;
    return options_.domains.empty() ||
           std::any_of(options_.domains.begin(), options_.domains.end(), [&](const std::string& one) {
               return begins_with(info.domain_attr->name, one);
           });
}

}  // namespace fabricgauge

#endif
