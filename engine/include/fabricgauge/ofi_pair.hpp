// One endpoint of libfabric that leads to another rank, with the memory of a case.
//
// Messages up to the provider's inject limit are copied as they are started, and have no completion, as
// MPIs send them. All others are counted as they are completed.
#pragma once

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fabricgauge/ofi_domain.hpp"

namespace fabricgauge {

// The address of an endpoint and of its memory. Ranks send it unchanged.
struct OfiAddress {
    char provider[64];
    std::uint8_t name[256];
    std::uint64_t octets;
    std::uint64_t memory;
    std::uint64_t key;
};

class OfiPair {
public:
    // `burst` is how many messages or operations are started before they are waited for. The side that
    // `listens` waits for the other where connections are made.
    OfiPair(const OfiDomain& domain, std::byte* memory, std::int64_t bytes, std::int64_t burst,
            int peer, bool listens);

    OfiAddress address() const;
    const fid_ep& endpoint() const noexcept { return *endpoint_; }
    const fid_cq& completions() const noexcept { return *completions_; }
    // With the peer's endpoint, from either side. Throws TransportError.
    void join(const OfiAddress& other);

    void start_send(const std::byte* data, std::int64_t bytes) {
        if (static_cast<std::size_t>(bytes) <= inject_bytes_) inject(data, bytes);
        else post_send(data, bytes);
    }
    void inject(const std::byte* data, std::int64_t bytes) {
        const auto size = static_cast<std::size_t>(bytes);
        start("send", [&] {
            return tagged_ ? fi_tinject(endpoint_.get(), data, size, to_, tag)
                           : fi_inject(endpoint_.get(), data, size, to_);
        });
    }
    // Has a completion, however short it is.
    void post_send(const std::byte* data, std::int64_t bytes) {
        const auto size = static_cast<std::size_t>(bytes);
        void* const own = next_context();
        start("send", [&] {
            return tagged_ ? fi_tsend(endpoint_.get(), data, size, key_, to_, tag, own)
                           : fi_send(endpoint_.get(), data, size, key_, to_, own);
        });
        ++started_;
    }
    void start_receive(std::byte* data, std::int64_t bytes) {
        const auto size = static_cast<std::size_t>(bytes);
        void* const own = next_context();
        start("receive", [&] {
            return tagged_ ? fi_trecv(endpoint_.get(), data, size, key_, FI_ADDR_UNSPEC, tag, 0, own)
                           : fi_recv(endpoint_.get(), data, size, key_, FI_ADDR_UNSPEC, own);
        });
        ++awaited_;
    }
    void write(const std::byte* data, std::int64_t bytes, std::int64_t displacement) {
        const auto size = static_cast<std::size_t>(bytes);
        const iovec from{const_cast<std::byte*>(data), size};
        const fi_rma_iov there{place(displacement), size, other_.key};
        const fi_msg_rma message{&from, &key_, 1, to_, &there, 1, next_context(), 0};
        start("write", [&] {
            return fi_writemsg(endpoint_.get(), &message, FI_COMPLETION | FI_DELIVERY_COMPLETE);
        });
        ++started_;
    }
    void read(std::byte* data, std::int64_t bytes, std::int64_t displacement) {
        void* const own = next_context();
        start("read", [&] {
            return fi_read(endpoint_.get(), data, static_cast<std::size_t>(bytes), key_, to_,
                           place(displacement), other_.key, own);
        });
        ++started_;
    }
    void fetch_and_add(const std::byte* added, std::byte* found) {
        void* const own = next_context();
        start("fetch-and-add", [&] {
            return fi_fetch_atomic(endpoint_.get(), added, 1, key_, found, key_, to_, place(0),
                                   other_.key, FI_UINT64, FI_SUM, own);
        });
        ++started_;
    }
    void compare_and_swap(const std::byte* swapped, const std::byte* compared, std::byte* found) {
        void* const own = next_context();
        start("compare-and-swap", [&] {
            return fi_compare_atomic(endpoint_.get(), swapped, 1, key_, compared, key_, found, key_,
                                     to_, place(0), other_.key, FI_UINT64, FI_CSWAP, own);
        });
        ++started_;
    }

    // All that was started.
    void await_started() {
        while (completed_ < started_) advance();
    }
    void await_received() {
        while (received_ < awaited_) advance();
    }
    // Lets the provider go on with what others want of this side.
    void advance() {
        fi_cq_msg_entry done[batch];
        const ssize_t found = fi_cq_read(completions_.get(), done, batch);
        if (found <= 0) return look_again(found);
        empty_ = 0;
        for (ssize_t i = 0; i < found; ++i) ++((done[i].flags & FI_RECV) != 0 ? received_ : completed_);
    }

private:
    static constexpr std::uint64_t tag = 1;
    static constexpr std::size_t batch = 16;
    // Looks in vain until others may have the processor: longer than an adapter's round trip lasts.
    static constexpr int patience = 256;

    // Until the provider has room for it.
    template <typename Start>
    void start(const char* operation, Start&& starts) {
        for (;;) {
            const ssize_t error = starts();
            if (error == 0) return;
            if (error != -FI_EAGAIN) fail(operation, error);
            advance();
        }
    }
    // The provider's own place for an operation that is under way.
    void* next_context() noexcept {
        context_ = context_ + 1 < contexts_.size() ? context_ + 1 : 0;
        return &contexts_[context_];
    }
    std::uint64_t place(std::int64_t displacement) const noexcept {
        return other_.memory + static_cast<std::uint64_t>(displacement);
    }

    template <typename Object, typename Open>
    void open(const char* call, OfiOwned<Object>& owner, Open&& opens);
    void make_endpoint(fi_info& info);
    void expose(std::byte* memory, std::int64_t bytes);
    void listen();
    void accept();
    fi_eq_cm_entry await_event(std::uint32_t wanted);
    void look_again(ssize_t found);
    [[noreturn]] void fail_completion();
    std::string where() const;
    [[noreturn]] void fail(const std::string& what, std::int64_t error) const;
    void require(const char* call, std::int64_t error) const {
        if (error != 0) fail(call, error);
    }

    const OfiDomain& domain_;
    int peer_;
    bool tagged_;
    std::size_t inject_bytes_;
    std::vector<fi_context2> contexts_;
    std::size_t context_ = 0;
    OfiAddress other_{};
    fi_addr_t to_ = FI_ADDR_UNSPEC;
    void* key_ = nullptr;  // of the memory, for this side
    std::int64_t started_ = 0;
    std::int64_t completed_ = 0;
    std::int64_t awaited_ = 0;
    std::int64_t received_ = 0;
    int empty_ = 0;
    OfiOwned<fid_eq> events_;
    OfiOwned<fid_cq> completions_;
    OfiOwned<fid_av> addresses_;
    OfiOwned<fid_pep> listener_;
    OfiOwned<fid_ep> endpoint_;  // ends before what it is bound to
    OfiOwned<fid_mr> memory_;
    std::uint64_t memory_begin_ = 0;
};

}  // namespace fabricgauge
