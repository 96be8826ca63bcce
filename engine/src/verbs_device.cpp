#if __has_include(<infiniband/verbs.h>)

#include "fabricgauge/verbs_device.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fabricgauge/json.hpp"

namespace fabricgauge {

namespace {

constexpr int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                       IBV_ACCESS_REMOTE_ATOMIC;
// Tried in turn if the first is more than a device has; the device then fails.
constexpr std::int64_t inline_trials[] = {usual_inline_bytes, 128, 64, 32, 16, 0};

std::string locked_memory_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return "";
    if (limit.rlim_cur == RLIM_INFINITY) return "; locked memory has no limit here";
    return "; the limit of locked memory (ulimit -l) is " + std::to_string(limit.rlim_cur / 1024) +
           " KiB here: raise it";
}

// It has the functions that made its extended domain, and those beside them. ibv_create_srq_ex and
// ibv_create_qp_ex are inline as well, but call others of the library by name.
verbs_context& driver_of(const VerbsDevice& device) { return *verbs_get_ctx(device.context()); }

ibv_srq* create_extended(const VerbsDevice& device, const ibv_srq_attr& size, ibv_cq* completions) {
    ibv_srq_init_attr_ex asked{};
    asked.attr = size;
    asked.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
                      IBV_SRQ_INIT_ATTR_CQ;
    asked.srq_type = IBV_SRQT_XRC;
    asked.pd = device.domain();
    asked.xrcd = device.extended_domain();
    asked.cq = completions;
    return driver_of(device).create_srq_ex(device.context(), &asked);
}

}  // namespace

std::string with_reason(const std::string& what, int error) {
    return what + ": " + std::strerror(error);
}

ibv_qp_type type_of(QueuePairKind kind) noexcept {
    if (kind == QueuePairKind::xrc) return IBV_QPT_XRC_SEND;
    if (kind == QueuePairKind::ud) return IBV_QPT_UD;
    return kind == QueuePairKind::uc ? IBV_QPT_UC : IBV_QPT_RC;
}

// The enumeration counts from 256 bytes up: InfiniBand Architecture Specification, 14.2.5.6.
std::int64_t bytes_of(ibv_mtu mtu) noexcept { return std::int64_t{128} << mtu; }

ibv_mtu mtu_of(std::int64_t bytes) noexcept {
    ibv_mtu mtu = IBV_MTU_256;
    while (mtu < IBV_MTU_4096 && bytes_of(mtu) < bytes) mtu = static_cast<ibv_mtu>(mtu + 1);
    return mtu;
}

VerbsLimits VerbsLimits::least(const VerbsLimits& other) const noexcept {
    return {std::min(path_mtu_bytes, other.path_mtu_bytes),
            std::min(inline_bytes, other.inline_bytes),
            std::min(message_bytes, other.message_bytes),
            std::min(requests, other.requests),
            std::min(reads, other.reads),
            std::min(atomics, other.atomics),
            std::min(shared_receives, other.shared_receives)};
}

VerbsDevice::VerbsDevice(const VerbsLibrary& library, const RdmaPort& port, const Gid& gid,
                         const VerbsOptions& options)
    : verbs_(library), port_(port), gid_(gid), options_(options), context_(open()),
      domain_(verbs_.alloc_pd(context_.get()), verbs_.dealloc_pd) {
    if (domain_ == nullptr)
        throw RdmaError(with_reason("ibv_alloc_pd of " + port_.device + " failed", errno));
    query();
    if (options_.queue_pair == QueuePairKind::xrc) extended_ = open_extended();
    limits_ = find_limits();
}

VerbsDevice::~VerbsDevice() = default;

VerbsDevice::Context VerbsDevice::open() const {
    int count = 0;
    ibv_device** const list = verbs_.get_device_list(&count);
    ibv_context* context = nullptr;
    int error = ENODEV;
    for (int i = 0; i < count; ++i)
        if (port_.device == list[i]->name) {
            context = verbs_.open_device(list[i]);
            error = errno;
        }
    if (list != nullptr) verbs_.free_device_list(list);
    if (context == nullptr)
        throw RdmaError(with_reason("libibverbs cannot open " + port_.device, error) +
                        "; its driver's library is needed (Debian's ibverbs-providers), and the"
                        " right to use /dev/infiniband");
    return {context, verbs_.close_device};
}

void VerbsDevice::query() {
    const auto number = static_cast<std::uint8_t>(port_.number);
    auto* const shorter = reinterpret_cast<_compat_ibv_port_attr*>(&attributes_);
    if (const int error = verbs_.query_device(context_.get(), &known_); error != 0)
        throw RdmaError(with_reason("ibv_query_device of " + port_.device + " failed", error));
    if (const int error = verbs_.query_port(context_.get(), number, shorter); error != 0)
        throw RdmaError(with_reason("ibv_query_port of " + port_.name() + " failed", error));
}

// It belongs to no file: only this process's queue pairs share it.
VerbsDevice::ExtendedDomain VerbsDevice::open_extended() const {
    if ((known_.device_cap_flags & IBV_DEVICE_XRC) == 0)
        throw RdmaError("the device " + port_.device + " has no extended reliable connections (XRC):"
                        " take the queue pair rc");
    ibv_xrcd_init_attr asked{IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, -1, O_CREAT};
    ExtendedDomain opened(ibv_open_xrcd(context_.get(), &asked), ibv_close_xrcd);
    if (opened == nullptr)
        throw RdmaError(with_reason("ibv_open_xrcd of " + port_.device + " failed", errno));
    return opened;
}

VerbsLimits VerbsDevice::find_limits() const {
    const std::int64_t active = bytes_of(attributes_.active_mtu);
    const std::int64_t asked = options_.path_mtu_bytes.value_or(static_cast<int>(active));
    if (asked > active)
        throw RdmaError("a path MTU of " + std::to_string(asked) + " B is asked for; the port " +
                        port_.name() + " has " + std::to_string(active));
    return {asked,
            inline_limit(),
            options_.queue_pair == QueuePairKind::ud ? asked : attributes_.max_msg_sz,
            known_.max_qp_wr,
            std::min(known_.max_qp_rd_atom, known_.max_qp_init_rd_atom),
            known_.atomic_cap == IBV_ATOMIC_NONE ? 0 : 1,
            known_.max_srq > 0 ? known_.max_srq_wr : 0};
}

// The bytes that a queue pair grants; a request that is not granted is an error.
std::int64_t VerbsDevice::inline_limit() const {
    const std::unique_ptr<ibv_cq, int (*)(ibv_cq*)> completions(
        verbs_.create_cq(context_.get(), 2, nullptr, nullptr, 0), verbs_.destroy_cq);
    if (completions == nullptr)
        throw RdmaError(with_reason("ibv_create_cq of " + port_.device + " failed", errno));
    const auto granted = [&](std::int64_t bytes) {
        ibv_qp_init_attr asked = queue_pair(completions.get(), 1, 1, bytes);
        ibv_qp* const pair = verbs_.create_qp(domain_.get(), &asked);
        if (pair != nullptr) verbs_.destroy_qp(pair);
        return pair != nullptr;
    };
    if (options_.inline_bytes) {
        if (granted(*options_.inline_bytes)) return *options_.inline_bytes;
        throw RdmaError(with_reason("the device " + port_.device + " has no queue pair with inline"
                                    " messages of " + std::to_string(*options_.inline_bytes) + " B",
                                    errno));
    }
    for (const std::int64_t bytes : inline_trials)
        if (granted(bytes)) return bytes;
    throw RdmaError(with_reason("ibv_create_qp of " + port_.device + " failed", errno));
}

// With extended connections the sending queue pair may not have receives.
ibv_qp_init_attr VerbsDevice::queue_pair(ibv_cq* completions, std::int64_t sends, std::int64_t receives,
                                         std::int64_t inline_bytes) const noexcept {
    const bool receives_here = options_.queue_pair != QueuePairKind::xrc;
    if (!receives_here) receives = 0;
    ibv_qp_init_attr asked{};
    asked.qp_type = type_of(options_.queue_pair);
    asked.send_cq = completions;
    asked.recv_cq = receives_here ? completions : nullptr;
    asked.cap = {static_cast<std::uint32_t>(sends), static_cast<std::uint32_t>(receives), 1,
                 receives > 0 ? 2u : 0u, static_cast<std::uint32_t>(inline_bytes)};
    return asked;
}

std::string VerbsDevice::description(int rank) const {
    JsonWriter json;
    json.begin_object().member("rank", rank).member("device", port_.device);
    json.member("port", port_.number).member("link_layer", port_.link_layer);
    json.member("gid_index", gid_.index).member("gid", gid_.text()).member("gid_type", gid_.type);
    json.member("lid", static_cast<std::int64_t>(lid()));
    json.member("active_mtu_bytes", bytes_of(attributes_.active_mtu));
    json.member("firmware", known_.fw_ver).end_object();
    return json.text();
}

VerbsMemory::VerbsMemory(const VerbsDevice& device, std::byte* memory, std::int64_t bytes)
    : region_(device.verbs().reg_mr(device.domain(), memory, static_cast<std::size_t>(bytes), access),
              device.verbs().dereg_mr) {
    if (region_ == nullptr)
        throw RdmaError(with_reason("the device " + device.port().device + " cannot register " +
                                        std::to_string(bytes) + " B of memory",
                                    errno) + locked_memory_limit());
}

SharedReceives share_receives(const VerbsDevice& device, std::int64_t receives, ibv_cq* completions) {
    ibv_srq_init_attr asked{};
    asked.attr.max_wr = static_cast<std::uint32_t>(std::max<std::int64_t>(receives, 1));
    asked.attr.max_sge = 2;
    SharedReceives queue(completions == nullptr ? device.verbs().create_srq(device.domain(), &asked)
                                                : create_extended(device, asked.attr, completions),
                         device.verbs().destroy_srq);
    if (queue == nullptr)
        throw RdmaError(with_reason("the device " + device.port().device + " has no shared queue of " +
                                        std::to_string(receives) + " receives",
                                    errno));
    return queue;
}

QueuePair extended_receiver(const VerbsDevice& device) {
    ibv_qp_init_attr_ex asked{};
    asked.qp_type = IBV_QPT_XRC_RECV;
    asked.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    asked.xrcd = device.extended_domain();
    QueuePair pair(driver_of(device).create_qp_ex(device.context(), &asked), device.verbs().destroy_qp);
    if (pair == nullptr)
        throw RdmaError(with_reason("the device " + device.port().device + " has no queue pair that"
                                    " receives by extended connections", errno));
    return pair;
}

}  // namespace fabricgauge

#endif
