// A device that is not there, for tests: queue pairs of one process, whose messages are copied from
// thread to thread. It keeps the rules of reliable connections, and does not forgive: a message that
// finds no posted receive, a wrong key or an address outside ends the queue pair at once.
#pragma once

#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

#include "fabricgauge/verbs_device.hpp"

namespace fake_verbs {

using Receives = std::deque<std::pair<std::uint64_t, ibv_sge>>;  // where payload goes

struct Shared : ibv_srq {
    Receives receives;
};

struct Pair : ibv_qp {
    std::uint32_t other = 0;
    bool broken = false;
    Receives own;

    Receives& receives() { return srq == nullptr ? own : static_cast<Shared*>(srq)->receives; }
};

struct Completions : ibv_cq {
    std::deque<ibv_wc> done;
};

struct World {
    std::mutex mutex;
    std::map<std::uint32_t, Pair*> pairs;
    std::map<std::uint32_t, ibv_mr*> regions;
    std::uint32_t next = 100;
    std::int64_t told = 0;     // completions of sends
    std::int64_t told_receives = 0;
    std::int64_t inlined = 0;  // sends whose data were copied as they were posted
    std::uint32_t most_inline = 256;
    std::function<void(std::byte*, std::size_t)> damage = [](std::byte*, std::size_t) {};
};

inline World& world() {
    static World one;
    return one;
}

inline ibv_context& context() {
    static ibv_context one{};
    return one;
}

inline void complete(ibv_cq* queue, std::uint64_t identity, ibv_wc_status status) {
    ibv_wc done{};
    done.wr_id = identity;
    done.status = status;
    static_cast<Completions*>(queue)->done.push_back(done);
}

inline void fail(Pair& pair, std::uint64_t identity, ibv_wc_status status) {
    complete(pair.send_cq, identity, status);
    pair.broken = true;
    for (const auto& [receive, place] : pair.own) complete(pair.recv_cq, receive, IBV_WC_WR_FLUSH_ERR);
    pair.own.clear();
}

inline bool is_open(std::uint64_t address, std::size_t bytes, std::uint32_t key) {
    const auto found = world().regions.find(key);
    if (found == world().regions.end()) return false;
    const auto begin = reinterpret_cast<std::uint64_t>(found->second->addr);
    return address >= begin && address + bytes <= begin + found->second->length;
}

// As an adapter writes: each byte once, and the last one when all others are there. A receiver may
// look for it, and send from the same memory at once; memcpy may write a byte twice.
inline void write_in_order(std::byte* there, const std::byte* data, std::size_t bytes) {
    if (bytes == 0) return;
    std::memcpy(there, data, bytes - 1);
    reinterpret_cast<std::atomic<std::byte>*>(there + bytes - 1)->store(data[bytes - 1]);
}

inline ibv_wc_status deliver(const ibv_send_wr& request, const ibv_sge& place) {
    Pair& from = *world().pairs.at(place.lkey >> 16);
    Pair& to = *world().pairs.at(from.qp_type == IBV_QPT_UD ? request.wr.ud.remote_qpn : from.other);
    auto* const data = reinterpret_cast<std::byte*>(place.addr);
    const std::size_t bytes = request.num_sge == 0 ? 0 : place.length;
    auto* const there = reinterpret_cast<std::byte*>(request.wr.rdma.remote_addr);
    switch (request.opcode) {
        case IBV_WR_SEND: {
            if (to.receives().empty()) return IBV_WC_RNR_RETRY_EXC_ERR;
            const auto [identity, into] = to.receives().front();
            to.receives().pop_front();
            if (bytes > into.length) return IBV_WC_REM_INV_REQ_ERR;
            auto* const target = reinterpret_cast<std::byte*>(into.addr);
            if (bytes > 0) std::memmove(target, data, bytes);
            world().damage(target, bytes);
            ++world().told_receives;
            complete(to.recv_cq, identity, IBV_WC_SUCCESS);
            return IBV_WC_SUCCESS;
        }
        case IBV_WR_RDMA_WRITE:
            if (!is_open(request.wr.rdma.remote_addr, bytes, request.wr.rdma.rkey)) break;
            write_in_order(there, data, bytes);
            world().damage(there, bytes);
            return IBV_WC_SUCCESS;
        case IBV_WR_RDMA_WRITE_WITH_IMM: {
            if (bytes > 0 && !is_open(request.wr.rdma.remote_addr, bytes, request.wr.rdma.rkey)) break;
            if (to.receives().empty()) return IBV_WC_RNR_RETRY_EXC_ERR;
            const std::uint64_t identity = to.receives().front().first;
            to.receives().pop_front();
            if (bytes > 0) std::memmove(there, data, bytes);
            world().damage(there, bytes);
            ++world().told_receives;
            complete(to.recv_cq, identity, IBV_WC_SUCCESS);
            return IBV_WC_SUCCESS;
        }
        case IBV_WR_RDMA_READ:
            if (!is_open(request.wr.rdma.remote_addr, bytes, request.wr.rdma.rkey)) break;
            if (bytes > 0) std::memcpy(data, there, bytes);
            return IBV_WC_SUCCESS;
        default: {
            if (!is_open(request.wr.atomic.remote_addr, 8, request.wr.atomic.rkey)) break;
            auto* const target = reinterpret_cast<std::byte*>(request.wr.atomic.remote_addr);
            std::uint64_t value;
            std::memcpy(&value, target, 8);
            std::memcpy(data, &value, 8);
            if (request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
                value += request.wr.atomic.compare_add;
            else if (value == request.wr.atomic.compare_add)
                value = request.wr.atomic.swap;
            std::memcpy(target, &value, 8);
            return IBV_WC_SUCCESS;
        }
    }
    return IBV_WC_REM_ACCESS_ERR;
}

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

inline ibv_qp* create_pair(ibv_pd*, ibv_qp_init_attr* asked) {
    if (asked->cap.max_inline_data > world().most_inline) {
        errno = EINVAL;
        return nullptr;
    }
    const std::lock_guard lock(world().mutex);
    auto* const pair = new Pair();
    pair->context = &context();
    pair->send_cq = asked->send_cq;
    pair->recv_cq = asked->recv_cq;
    pair->qp_type = asked->qp_type;
    pair->srq = asked->srq;
    pair->qp_num = world().next++;
    world().pairs[pair->qp_num] = pair;
    return pair;
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
    attributes->max_qp_wr = 1000;
    attributes->max_qp_rd_atom = attributes->max_qp_init_rd_atom = 16;
    attributes->atomic_cap = IBV_ATOMIC_HCA;
    attributes->max_srq = 1;
    attributes->max_srq_wr = 1000;
    return 0;
}

inline fabricgauge::VerbsLibrary library() {
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
    verbs.destroy_srq = [](ibv_srq* queue) { delete static_cast<Shared*>(queue); return 0; };
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
