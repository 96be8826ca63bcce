#if __has_include(<infiniband/verbs.h>)

#include "fabricgauge/verbs_pair.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <random>

#include "fabricgauge/transport.hpp"

namespace fabricgauge {

namespace {

// Operations whose receives are posted: the one under way, and the next.
constexpr std::int64_t operations_ahead = 2;

// 4.096 us x 2^17 = 0.54 s until a packet is sent again, seven times; then the peer is lost. UCX
// waits 1 s; with less a busy software device sends packets again whose acknowledgement is only
// late.
constexpr std::uint8_t acknowledge_timeout = 17;
constexpr std::uint8_t retries = 7;
// Without a posted receive the peer asks for 0.64 ms, six times; 7 would be for ever.
constexpr std::uint8_t not_ready_timer = 12;
constexpr std::uint8_t not_ready_retries = 6;
constexpr std::uint8_t hops = 64;
// In front of a datagram that was received: the global route header, InfiniBand Architecture
// Specification, 11.4.1.2.
constexpr std::uint32_t header_bytes = 40;
// The key that both ends of datagrams use; its first bit would need privileges.
constexpr std::uint32_t datagram_key = 0x11111111;
// Packets are numbered in 24 bits.
constexpr std::uint32_t last_sequence = 0xffffff;

// Limit for a device that counts them in eight bits.
std::uint8_t reads_at_once(std::int64_t reads) {
    return static_cast<std::uint8_t>(std::min<std::int64_t>(reads, 255));
}

}  // namespace

const char* name_of(VerbsOperation operation) noexcept {
    switch (operation) {
        case VerbsOperation::send: return "send to";
        case VerbsOperation::write: return "RDMA write to";
        case VerbsOperation::read: return "RDMA read from";
        case VerbsOperation::fetch_and_add: return "fetch-and-add at";
        case VerbsOperation::compare_and_swap: return "compare-and-swap at";
        case VerbsOperation::receive: return "receive from";
    }
    return "";
}

std::int64_t receives_for(const Arrivals& arrivals) noexcept {
    return operations_ahead * arrivals.messages();
}

VerbsPair::VerbsPair(const VerbsDevice& device, const VerbsLimits& limits, const VerbsMemory& memory,
                     const VerbsPlan& plan, int peer)
    : device_(device), kind_(device.options().queue_pair),
      by_(device.options().messages_by), peer_(peer), path_mtu_bytes_(limits.path_mtu_bytes), reads_(limits.reads),
      inline_bytes_(limits.inline_bytes),
      signal_interval_(device.options().signal_interval), burst_(plan.burst),
      depth_(std::min(limits.requests, std::max(burst_, 2 * signal_interval_))),
      arrivals_(plan.arrivals), shared_(plan.shared) {
    // Otherwise a full queue would hold no send that signals its completion.
    signal_interval_ = std::min(signal_interval_, std::max<std::int64_t>(1, depth_ / 2));
    sequence_ = std::random_device{}() & last_sequence;
    create(limits);
    prepare(plan.arrivals, memory.local_key());
    if (by_ == MessagesBy::write && arrivals_.count > 0)
        arrivals_.data[arrivals_.bytes - 1] = std::byte{flag_};
    place_.lkey = memory.local_key();
    request_.sg_list = &place_;
    for (std::int64_t ahead = 0; ahead < operations_ahead; ++ahead)
        for (std::uint64_t place = 0; place < receives_.size(); ++place) post_receive(place);
}

void VerbsPair::prepare(const Arrivals& arrivals, std::uint32_t local_key) {
    const auto messages = static_cast<std::size_t>(arrivals.messages());
    const bool datagrams = kind_ == QueuePairKind::ud;
    places_.resize(2 * messages);
    receives_.resize(messages);
    if (datagrams) {
        headers_ = Buffer(header_bytes);
        headers_memory_ = VerbsMemory(device_, headers_.data(), headers_.bytes());
    }
    for (std::size_t i = 0; i < messages; ++i) {
        const auto number = static_cast<std::int64_t>(i);
        // With shared receives, another queue pair's message may take that of the empty one.
        const std::int64_t slot = shared_ != nullptr && number == arrivals.count ? 0 : number;
        const bool empty = slot >= arrivals.count || arrivals.bytes == 0;
        ibv_sge* const places = &places_[2 * i];
        receives_[i].wr_id = identity(VerbsOperation::receive, number);
        receives_[i].sg_list = datagrams ? places : places + 1;
        receives_[i].num_sge = (datagrams ? 1 : 0) + (empty ? 0 : 1);
        if (datagrams)
            places[0] = {reinterpret_cast<std::uint64_t>(headers_.data()), header_bytes,
                         headers_memory_.local_key()};
        if (!empty)
            places[1] = {reinterpret_cast<std::uint64_t>(arrivals.data + slot * arrivals.stride),
                         static_cast<std::uint32_t>(arrivals.bytes), local_key};
    }
}

void VerbsPair::create(const VerbsLimits& limits) {
    const VerbsLibrary& verbs = device_.verbs();
    const std::int64_t receives = receives_for(arrivals_);
    completions_ = {verbs.create_cq(device_.context(), static_cast<int>(depth_ + receives + 1),
                                    nullptr, nullptr, 0),
                    verbs.destroy_cq};
    if (completions_ == nullptr) throw RdmaError(with_reason("ibv_create_cq failed" + where(), errno));
    ibv_qp_init_attr asked = device_.queue_pair(
        completions_.get(), depth_, shared_ == nullptr ? std::max<std::int64_t>(receives, 1) : 0,
        limits.inline_bytes);
    asked.srq = shared_;
    pair_ = {verbs.create_qp(device_.domain(), &asked), verbs.destroy_qp};
    if (pair_ == nullptr) throw RdmaError(with_reason("ibv_create_qp failed" + where(), errno));
    initialise(*pair_);
    if (kind_ == QueuePairKind::xrc) extend(receives);
}

void VerbsPair::extend(std::int64_t receives) {
    extended_receives_ = share_receives(device_, receives, completions_.get());
    shared_ = extended_receives_.get();
    extended_receiver_ = extended_receiver(device_);
    initialise(*extended_receiver_);
}

void VerbsPair::initialise(ibv_qp& pair) {
    ibv_qp_attr ready{};
    ready.qp_state = IBV_QPS_INIT;
    ready.port_num = static_cast<std::uint8_t>(device_.port().number);
    ready.qkey = datagram_key;
    ready.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    if (is_reliable(kind_))
        ready.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    const int own = kind_ == QueuePairKind::ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
    modify(pair, ready, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | own, "INIT");
}

VerbsAddress VerbsPair::address() const {
    VerbsAddress own{};
    own.sender = own.queue_pair = pair_->qp_num;
    if (extended_receiver_ != nullptr) {
        own.queue_pair = extended_receiver_->qp_num;
        if (const int error = ibv_get_srq_num(shared_, &own.receives); error != 0)
            throw RdmaError(with_reason("ibv_get_srq_num failed" + where(), error));
    }
    own.sequence = sequence_;
    std::memcpy(own.gid, device_.gid().octets.data(), sizeof own.gid);
    own.lid = device_.lid();
    own.messages = reinterpret_cast<std::uint64_t>(arrivals_.data);
    own.stride = arrivals_.stride;
    own.count = arrivals_.count;
    return own;
}

void VerbsPair::connect(const VerbsAddress& other) {
    other_ = other;
    const ibv_ah_attr way = way_to(other);
    make_ready_to_receive(*pair_, other.queue_pair, way);
    make_ready_to_send(*pair_);
    if (extended_receiver_ != nullptr) {
        make_ready_to_receive(*extended_receiver_, other.sender, way);
        make_ready_to_send(*extended_receiver_);
        request_.qp_type.xrc.remote_srqn = other.receives;
    }
    if (kind_ == QueuePairKind::ud) address_datagrams(other, way);
}

ibv_ah_attr VerbsPair::way_to(const VerbsAddress& other) const noexcept {
    ibv_ah_attr way{};
    way.port_num = static_cast<std::uint8_t>(device_.port().number);
    way.sl = static_cast<std::uint8_t>(device_.options().service_level);
    way.dlid = other.lid;
    way.is_global = device_.is_global() ? 1 : 0;
    way.grh.hop_limit = hops;
    way.grh.traffic_class = static_cast<std::uint8_t>(device_.options().traffic_class);
    way.grh.sgid_index = static_cast<std::uint8_t>(device_.gid().index);
    std::memcpy(way.grh.dgid.raw, other.gid, sizeof other.gid);
    return way;
}

// Each side of an extended connection gets only the attributes that it uses.
void VerbsPair::make_ready_to_receive(ibv_qp& pair, std::uint32_t other, const ibv_ah_attr& way) {
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_RTR;
    to.ah_attr = way;
    to.path_mtu = mtu_of(path_mtu_bytes_);
    to.dest_qp_num = other;
    to.rq_psn = other_.sequence;
    to.max_dest_rd_atomic = reads_at_once(reads_);
    to.min_rnr_timer = not_ready_timer;
    int mask = IBV_QP_STATE;
    if (kind_ != QueuePairKind::ud)
        mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (pair.qp_type == IBV_QPT_RC || pair.qp_type == IBV_QPT_XRC_RECV)
        mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    modify(pair, to, mask, "ready to receive");
}

void VerbsPair::make_ready_to_send(ibv_qp& pair) {
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_RTS;
    to.sq_psn = sequence_;
    to.timeout = acknowledge_timeout;
    to.retry_cnt = retries;
    to.rnr_retry = not_ready_retries;
    to.max_rd_atomic = reads_at_once(reads_);
    int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (is_reliable(kind_)) mask |= IBV_QP_TIMEOUT;
    if (pair.qp_type == IBV_QPT_RC || pair.qp_type == IBV_QPT_XRC_SEND)
        mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    modify(pair, to, mask, "ready to send");
}

// A datagram names its receiver by itself.
void VerbsPair::address_datagrams(const VerbsAddress& other, ibv_ah_attr way) {
    handle_ = {device_.verbs().create_ah(device_.domain(), &way), device_.verbs().destroy_ah};
    if (handle_ == nullptr) throw RdmaError(with_reason("ibv_create_ah failed" + where(), errno));
    request_.wr.ud = {handle_.get(), other.queue_pair, datagram_key};
}

void VerbsPair::modify(ibv_qp& pair, ibv_qp_attr& attributes, int mask, const char* state) {
    const int error = device_.verbs().modify_qp(&pair, &attributes, mask);
    if (error != 0)
        throw RdmaError(with_reason(std::string("a queue pair cannot be made ") + state + where(), error));
}

void VerbsPair::give_way() noexcept {
    empty_ = 0;
    sched_yield();
}

std::string VerbsPair::where() const {
    return " between " + device_.port().name() + " and rank " + std::to_string(peer_);
}

void VerbsPair::fail_post(VerbsOperation operation, int error) const {
    throw TransportError(with_reason(std::string("verbs: the ") + name_of(operation) + " rank " +
                                         std::to_string(peer_) + " by " + device_.port().name() +
                                         " cannot be started",
                                     error));
}

// The first failure takes the queue pair down, and all other work on it is flushed: an error that
// is not a flush is the cause.
void VerbsPair::fail_completion(const ibv_wc& failed) {
    ibv_wc cause = failed;
    for (ibv_wc next; cause.status == IBV_WC_WR_FLUSH_ERR &&
                      ibv_poll_cq(completions_.get(), 1, &next) == 1;)
        if (next.status != IBV_WC_SUCCESS) cause = next;
    const std::string flushed = cause.status == IBV_WC_WR_FLUSH_ERR
                                    ? "; rank " + std::to_string(peer_) + " saw the cause"
                                    : "";
    throw TransportError(std::string("verbs: the ") + name_of(operation_of(cause.wr_id)) + " rank " +
                         std::to_string(peer_) + " by " + device_.port().name() + " failed: " +
                         device_.verbs().wc_status_str(cause.status) + " (status " +
                         std::to_string(cause.status) + ", vendor's " +
                         std::to_string(cause.vendor_err) + ")" + flushed);
}

}  // namespace fabricgauge

#endif
