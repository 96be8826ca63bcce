#if __has_include(<rdma/fabric.h>) && !defined(FABRICGAUGE_SIMULATED)

#include "fabricgauge/ofi_pair.hpp"

#include <sched.h>

#include <cstring>
#include <memory>

#include "fabricgauge/transport.hpp"

namespace fabricgauge {

namespace {

constexpr int longest_connect_ms = 5000;
// The key of one case: the domain has no other memory that needs a key.
constexpr std::uint64_t wanted_key = 1;
constexpr std::uint64_t local_access = FI_SEND | FI_RECV;
constexpr std::uint64_t every_access =
    local_access | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

const char* operation_of(std::uint64_t flags) {
    if ((flags & FI_ATOMIC) != 0) return "atomic operation";
    if ((flags & FI_RMA) != 0) return (flags & FI_READ) != 0 ? "read" : "write";
    return (flags & FI_RECV) != 0 ? "receive" : "send";
}

}  // namespace

OfiPair::OfiPair(const OfiDomain& domain, std::byte* memory, std::int64_t bytes, std::int64_t burst,
                 int peer, bool listens)
    : domain_(domain), peer_(peer), tagged_(domain.tagged()),
      inject_bytes_(domain.info().tx_attr->inject_size),
      contexts_(static_cast<std::size_t>(2 * burst + 4)) {
    fi_cq_attr queue{};
    queue.size = contexts_.size() + domain.info().tx_attr->size + domain.info().rx_attr->size;
    queue.format = FI_CQ_FORMAT_MSG;
    open("fi_cq_open", completions_, [&](fid_cq** made) {
        return fi_cq_open(domain_.domain(), &queue, made, nullptr);
    });
    if (domain.connected()) {
        fi_eq_attr events{};
        events.wait_obj = FI_WAIT_UNSPEC;
        open("fi_eq_open", events_, [&](fid_eq** made) {
            return fi_eq_open(domain_.fabric(), &events, made, nullptr);
        });
        listens ? listen() : make_endpoint(domain.info());
    } else {
        make_endpoint(domain.info());
    }
    if (bytes > 0) expose(memory, bytes);
}

template <typename Object, typename Open>
void OfiPair::open(const char* call, OfiOwned<Object>& owner, Open&& opens) {
    Object* made = nullptr;
    require(call, opens(&made));
    owner.reset(made);
}

void OfiPair::make_endpoint(fi_info& info) {
    open("fi_endpoint", endpoint_, [&](fid_ep** made) {
        return fi_endpoint(domain_.domain(), &info, made, nullptr);
    });
    if (events_) {
        require("fi_ep_bind", fi_ep_bind(endpoint_.get(), &events_->fid, 0));
    } else {
        fi_av_attr table{};
        table.count = 1;
        open("fi_av_open", addresses_, [&](fid_av** made) {
            return fi_av_open(domain_.domain(), &table, made, nullptr);
        });
        require("fi_ep_bind", fi_ep_bind(endpoint_.get(), &addresses_->fid, 0));
    }
    require("fi_ep_bind", fi_ep_bind(endpoint_.get(), &completions_->fid, FI_TRANSMIT | FI_RECV));
    require("fi_enable", fi_enable(endpoint_.get()));
}

void OfiPair::expose(std::byte* memory, std::int64_t bytes) {
    const int mode = domain_.info().domain_attr->mr_mode;
    const bool remote = domain_.limits().abilities != Abilities::messages;
    if (!remote && (mode & FI_MR_LOCAL) == 0) return;
    open("fi_mr_reg", memory_, [&](fid_mr** made) {
        return fi_mr_reg(domain_.domain(), memory, static_cast<std::size_t>(bytes),
                         remote ? every_access : local_access, 0, wanted_key, 0, made, nullptr);
    });
    if ((mode & FI_MR_ENDPOINT) != 0) {
        require("fi_mr_bind", fi_mr_bind(memory_.get(), &endpoint_->fid, 0));
        require("fi_mr_enable", fi_mr_enable(memory_.get()));
    }
    if ((mode & FI_MR_LOCAL) != 0) key_ = fi_mr_desc(memory_.get());
    if ((mode & FI_MR_VIRT_ADDR) != 0) memory_begin_ = reinterpret_cast<std::uint64_t>(memory);
}

void OfiPair::listen() {
    open("fi_passive_ep", listener_, [&](fid_pep** made) {
        return fi_passive_ep(domain_.fabric(), &domain_.info(), made, nullptr);
    });
    require("fi_pep_bind", fi_pep_bind(listener_.get(), &events_->fid, 0));
    require("fi_listen", fi_listen(listener_.get()));
}

OfiAddress OfiPair::address() const {
    OfiAddress own{};
    std::strncpy(own.provider, domain_.provider().c_str(), sizeof own.provider - 1);
    std::size_t octets = sizeof own.name;
    if (listener_ || addresses_)
        require("fi_getname", fi_getname(listener_ ? &listener_->fid : &endpoint_->fid, own.name, &octets));
    own.octets = octets;
    own.memory = memory_begin_;
    own.key = memory_ ? fi_mr_key(memory_.get()) : 0;
    return own;
}

void OfiPair::join(const OfiAddress& other) {
    other_ = other;
    if (domain_.provider() != other.provider)
        throw TransportError("libfabric: rank " + std::to_string(peer_) + " has the provider " +
                             other.provider + ", this one " + domain_.provider() +
                             ": name the one that is meant");
    if (listener_) return accept();
    if (events_) {
        require("fi_connect", fi_connect(endpoint_.get(), other_.name, nullptr, 0));
        await_event(FI_CONNECTED);
    } else if (fi_av_insert(addresses_.get(), other_.name, 1, &to_, 0, nullptr) != 1) {
        fail("fi_av_insert", FI_EADDRNOTAVAIL);
    }
}

void OfiPair::accept() {
    const fi_eq_cm_entry request = await_event(FI_CONNREQ);
    const std::unique_ptr<fi_info, void (*)(fi_info*)> info(request.info, domain_.library().freeinfo);
    info->tx_attr->op_flags = 0;
    make_endpoint(*info);
    require("fi_accept", fi_accept(endpoint_.get(), nullptr, 0));
    await_event(FI_CONNECTED);
}

fi_eq_cm_entry OfiPair::await_event(std::uint32_t wanted) {
    fi_eq_cm_entry entry{};
    std::uint32_t event = 0;
    const ssize_t found =
        fi_eq_sread(events_.get(), &event, &entry, sizeof entry, longest_connect_ms, 0);
    if (found == -FI_EAVAIL) {
        fi_eq_err_entry error{};
        fi_eq_readerr(events_.get(), &error, 0);
        fail("connecting", error.err);
    }
    if (found < 0) fail("connecting", found == -FI_EAGAIN ? FI_ETIMEDOUT : found);
    if (event != wanted) fail("connecting", FI_ECONNREFUSED);
    return entry;
}

void OfiPair::look_again(ssize_t found) {
    if (found == -FI_EAVAIL) fail_completion();
    if (found != -FI_EAGAIN) fail("reading completions", found);
    if (++empty_ < patience) return;
    empty_ = 0;
    sched_yield();
}

void OfiPair::fail_completion() {
    fi_cq_err_entry error{};
    fi_cq_readerr(completions_.get(), &error, 0);
    char text[128] = "";
    fi_cq_strerror(completions_.get(), error.prov_errno, error.err_data, text, sizeof text);
    throw TransportError(domain_.library().with_reason(
        std::string("libfabric: the ") + operation_of(error.flags) + where() + " failed", error.err) +
        " (" + std::to_string(error.err) + ", provider's " + std::to_string(error.prov_errno) + ": " +
        text + ")");
}

void OfiPair::fail(const std::string& what, std::int64_t error) const {
    throw TransportError(domain_.library().with_reason("libfabric: " + what + where() + " failed", error));
}

std::string OfiPair::where() const {
    return " with rank " + std::to_string(peer_) + " by " + domain_.provider() + " (" +
           domain_.name() + ")";
}

}  // namespace fabricgauge

#endif
