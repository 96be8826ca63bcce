// What the stand-in device of fake_verbs.hpp holds, and how a message gets to its receiver.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace fake_verbs {

using Receives = std::deque<std::pair<std::uint64_t, ibv_sge>>;  // where payload goes

struct Shared : ibv_srq {
    Receives receives;
    std::uint32_t number = 0;  // of extended connections, as their completions
    ibv_cq* told = nullptr;
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
    std::map<std::uint32_t, Shared*> extended;
    unsigned int abilities = IBV_DEVICE_XRC;
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

inline verbs_context& driver() {
    static verbs_context one{};
    return one;
}

inline ibv_context& context() { return driver().context; }

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

// Every request of an extended connection names a queue of receives, and comes by the queue pair
// that is connected to its sender.
inline bool is_extended_right(const ibv_send_wr& request, const Pair& from, const Pair& to) {
    return to.qp_type == IBV_QPT_XRC_RECV && to.other == from.qp_num &&
           world().extended.count(request.qp_type.xrc.remote_srqn) == 1;
}

inline ibv_wc_status deliver(const ibv_send_wr& request, const ibv_sge& place) {
    Pair& from = *world().pairs.at(place.lkey >> 16);
    Pair& to = *world().pairs.at(from.qp_type == IBV_QPT_UD ? request.wr.ud.remote_qpn : from.other);
    const bool extended = from.qp_type == IBV_QPT_XRC_SEND;
    if (extended && !is_extended_right(request, from, to)) return IBV_WC_REM_INV_REQ_ERR;
    Shared* const named = extended ? world().extended.at(request.qp_type.xrc.remote_srqn) : nullptr;
    Receives& receives = extended ? named->receives : to.receives();
    const auto tell = [&](std::uint64_t identity) {
        ++world().told_receives;
        complete(extended ? named->told : to.recv_cq, identity, IBV_WC_SUCCESS);
    };
    auto* const data = reinterpret_cast<std::byte*>(place.addr);
    const std::size_t bytes = request.num_sge == 0 ? 0 : place.length;
    auto* const there = reinterpret_cast<std::byte*>(request.wr.rdma.remote_addr);
    switch (request.opcode) {
        case IBV_WR_SEND: {
            if (receives.empty()) return IBV_WC_RNR_RETRY_EXC_ERR;
            const auto [identity, into] = receives.front();
            receives.pop_front();
            if (bytes > into.length) return IBV_WC_REM_INV_REQ_ERR;
            auto* const target = reinterpret_cast<std::byte*>(into.addr);
            if (bytes > 0) std::memmove(target, data, bytes);
            world().damage(target, bytes);
            tell(identity);
            return IBV_WC_SUCCESS;
        }
        case IBV_WR_RDMA_WRITE:
            if (!is_open(request.wr.rdma.remote_addr, bytes, request.wr.rdma.rkey)) break;
            write_in_order(there, data, bytes);
            world().damage(there, bytes);
            return IBV_WC_SUCCESS;
        case IBV_WR_RDMA_WRITE_WITH_IMM: {
            if (bytes > 0 && !is_open(request.wr.rdma.remote_addr, bytes, request.wr.rdma.rkey)) break;
            if (receives.empty()) return IBV_WC_RNR_RETRY_EXC_ERR;
            const std::uint64_t identity = receives.front().first;
            receives.pop_front();
            if (bytes > 0) std::memmove(there, data, bytes);
            world().damage(there, bytes);
            tell(identity);
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

}  // namespace fake_verbs
