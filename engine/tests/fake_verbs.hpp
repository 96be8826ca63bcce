// A stand-in for a device, for tests: queue pairs of one process, whose messages are copied from
// thread to thread. It keeps the rules of reliable connections, and does not forgive: a message that
// finds no posted receive, a wrong key or an address outside ends the queue pair at once. A state of a
// queue pair is refused unless it is told exactly what the kernel requires for it.
#pragma once

#include <cerrno>
#include <cstring>
#include <mutex>

#include "fabricgauge/verbs_device.hpp"
#include "fake_verbs_world.hpp"
#include "queue_pair_states.hpp"

namespace fake_verbs {

inline int post_send(ibv_qp* given, ibv_send_wr* request, ibv_send_wr**) {
    const std::lock_guard lock(world().mutex);
    auto& pair = *static_cast<Pair*>(given);
    if (pair.broken) {
        complete(pair.send_cq, request->wr_id, IBV_WC_WR_FLUSH_ERR);
        return 0;
    }
    if ((request->send_flags & IBV_SEND_INLINE) != 0) ++world().inlined;
    ibv_sge place = request->num_sge == 0 ? ibv_sge{} : *request->sg_list;
    place.lkey = pair.qp_num << 16;  // whom it comes from
    const ibv_wc_status status = deliver(*request, place);
    if (status != IBV_WC_SUCCESS) {
        fail(pair, request->wr_id, status);
    } else if ((request->send_flags & IBV_SEND_SIGNALED) != 0) {
        ++world().told;
        complete(pair.send_cq, request->wr_id, status);
    }
    return 0;
}

inline int post_shared_receive(ibv_srq* given, ibv_recv_wr* request, ibv_recv_wr**) {
    const std::lock_guard lock(world().mutex);
    static_cast<Shared*>(given)->receives.emplace_back(
        request->wr_id, request->num_sge == 0 ? ibv_sge{} : request->sg_list[0]);
    return 0;
}

inline int post_receive(ibv_qp* given, ibv_recv_wr* request, ibv_recv_wr**) {
    const std::lock_guard lock(world().mutex);
    auto& pair = *static_cast<Pair*>(given);
    // The first place of a datagram is its header's.
    const int headers = pair.qp_type == IBV_QPT_UD ? 1 : 0;
    pair.own.emplace_back(
        request->wr_id, request->num_sge == headers ? ibv_sge{} : request->sg_list[headers]);
    return 0;
}

inline int poll(ibv_cq* given, int most, ibv_wc* done) {
    const std::lock_guard lock(world().mutex);
    auto& waiting = static_cast<Completions*>(given)->done;
    int count = 0;
    for (; count < most && !waiting.empty(); ++count, waiting.pop_front()) done[count] = waiting.front();
    return count;
}

inline ibv_device** device_list(int* count) {
    static ibv_device device = [] {
        ibv_device one{};
        std::strcpy(one.name, "fake0");
        return one;
    }();
    static ibv_device* list[] = {&device, nullptr};
    *count = 1;
    return list;
}

template <typename Asked>
ibv_qp* add_pair(const Asked& asked) {
    const std::lock_guard lock(world().mutex);
    auto* const pair = new Pair();
    pair->context = &context();
    pair->send_cq = asked.send_cq;
    pair->recv_cq = asked.recv_cq;
    pair->qp_type = asked.qp_type;
    pair->srq = asked.srq;
    pair->qp_num = world().next++;
    world().pairs[pair->qp_num] = pair;
    return pair;
}

inline ibv_qp* create_pair(ibv_pd*, ibv_qp_init_attr* asked) {
    const bool only_sends = asked->qp_type == IBV_QPT_XRC_SEND;
    const bool receives = asked->recv_cq != nullptr || asked->srq != nullptr || asked->cap.max_recv_wr > 0;
    if (asked->cap.max_inline_data <= world().most_inline && !(only_sends && receives))
        return add_pair(*asked);
    errno = EINVAL;
    return nullptr;
}

inline ibv_qp* create_receiver(ibv_context*, ibv_qp_init_attr_ex* asked) {
    const bool fine = asked->qp_type == IBV_QPT_XRC_RECV && asked->comp_mask == IBV_QP_INIT_ATTR_XRCD &&
                      asked->xrcd != nullptr;
    return fine ? add_pair(*asked) : nullptr;
}

inline ibv_srq* create_extended(ibv_context* of, ibv_srq_init_attr_ex* asked) {
    if (asked->srq_type != IBV_SRQT_XRC || asked->xrcd == nullptr || asked->cq == nullptr) return nullptr;
    const std::lock_guard lock(world().mutex);
    auto* const queue = new Shared();
    queue->context = of;
    queue->told = asked->cq;
    queue->number = world().next++;
    world().extended[queue->number] = queue;
    return queue;
}

inline ibv_mr* register_memory(ibv_pd*, void* memory, std::size_t bytes, int) {
    const std::lock_guard lock(world().mutex);
    auto* const region = new ibv_mr{};
    region->addr = memory;
    region->length = bytes;
    region->rkey = region->lkey = world().next++;
    world().regions[region->rkey] = region;
    return region;
}

inline int query_port(ibv_context*, std::uint8_t, _compat_ibv_port_attr* shorter) {
    auto* const attributes = reinterpret_cast<ibv_port_attr*>(shorter);
    attributes->active_mtu = IBV_MTU_1024;
    attributes->max_msg_sz = 1 << 20;
    attributes->link_layer = IBV_LINK_LAYER_ETHERNET;
    return 0;
}

inline int query_device(ibv_context*, ibv_device_attr* attributes) {
    attributes->device_cap_flags = world().abilities;
    attributes->max_qp_wr = 1000;
    attributes->max_qp_rd_atom = attributes->max_qp_init_rd_atom = 16;
    attributes->atomic_cap = IBV_ATOMIC_HCA;
    attributes->max_srq = 1;
    attributes->max_srq_wr = 1000;
    return 0;
}

inline void extend_driver() {
    context().abi_compat = __VERBS_ABI_IS_EXTENDED;
    driver().sz = sizeof(verbs_context);
    driver().open_xrcd = [](ibv_context* of, ibv_xrcd_init_attr*) { return new ibv_xrcd{of}; };
    driver().close_xrcd = [](ibv_xrcd* domain) { delete domain; return 0; };
    driver().create_srq_ex = create_extended;
    driver().create_qp_ex = create_receiver;
    driver().get_srq_num = [](ibv_srq* queue, std::uint32_t* number) {
        *number = static_cast<Shared*>(queue)->number;
        return 0;
    };
}

inline fabricgauge::VerbsLibrary library() {
    extend_driver();
    context().ops.post_send = post_send;
    context().ops.post_recv = post_receive;
    context().ops.post_srq_recv = post_shared_receive;
    context().ops.poll_cq = poll;
    fabricgauge::VerbsLibrary verbs;
    verbs.path = "/fake/libibverbs.so.1";
    verbs.get_device_list = device_list;
    verbs.free_device_list = [](ibv_device**) {};
    verbs.open_device = [](ibv_device*) { return &context(); };
    verbs.close_device = [](ibv_context*) { return 0; };
    verbs.query_device = query_device;
    verbs.query_port = query_port;
    verbs.alloc_pd = [](ibv_context* of) { return new ibv_pd{of, 0}; };
    verbs.dealloc_pd = [](ibv_pd* domain) { delete domain; return 0; };
    verbs.reg_mr = register_memory;
    verbs.dereg_mr = [](ibv_mr* region) {
        const std::lock_guard lock(world().mutex);
        world().regions.erase(region->rkey);
        delete region;
        return 0;
    };
    verbs.create_cq = [](ibv_context* of, int, void*, ibv_comp_channel*, int) -> ibv_cq* {
        auto* const queue = new Completions();
        queue->context = of;
        return queue;
    };
    verbs.destroy_cq = [](ibv_cq* queue) { delete static_cast<Completions*>(queue); return 0; };
    verbs.create_qp = create_pair;
    verbs.modify_qp = [](ibv_qp* pair, ibv_qp_attr* to, int mask) {
        if (mask != (IBV_QP_STATE | required_for(pair->qp_type, to->qp_state))) return EINVAL;
        if ((mask & IBV_QP_DEST_QPN) != 0) static_cast<Pair*>(pair)->other = to->dest_qp_num;
        return 0;
    };
    verbs.destroy_qp = [](ibv_qp* pair) {
        const std::lock_guard lock(world().mutex);
        world().pairs.erase(pair->qp_num);
        delete static_cast<Pair*>(pair);
        return 0;
    };
    verbs.create_srq = [](ibv_pd*, ibv_srq_init_attr*) -> ibv_srq* {
        auto* const queue = new Shared();
        queue->context = &context();
        return queue;
    };
    verbs.destroy_srq = [](ibv_srq* queue) {
        const std::lock_guard lock(world().mutex);
        world().extended.erase(static_cast<Shared*>(queue)->number);
        delete static_cast<Shared*>(queue);
        return 0;
    };
    verbs.create_ah = [](ibv_pd*, ibv_ah_attr*) { return new ibv_ah{}; };
    verbs.destroy_ah = [](ibv_ah* handle) { delete handle; return 0; };
    verbs.wc_status_str = [](ibv_wc_status status) -> const char* {
        switch (status) {
            case IBV_WC_REM_ACCESS_ERR: return "remote access error";
            case IBV_WC_RNR_RETRY_EXC_ERR: return "RNR retry counter exceeded";
            case IBV_WC_WR_FLUSH_ERR: return "Work Request Flushed Error";
            default: return "another error";
        }
    };
    return verbs;
}

inline fabricgauge::RdmaPort port() {
    return {"fake0", 1, "4: ACTIVE", "Ethernet", false, {{1, {}, "RoCE v2"}}};
}

}  // namespace fake_verbs
