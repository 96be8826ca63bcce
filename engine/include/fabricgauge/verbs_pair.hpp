// One queue pair between this rank and another.
//
// Receives are posted before their messages come, for two operations of a pattern at once, each into
// the memory that the pattern has for it. An operation ends with messages both ways, so no side is
// ahead of the other by more than one: no message finds the receiver without a posted receive. That is
// what flow control by credits would do, without messages of its own.
//
// Every `signal_interval`-th send and the last of a window signal their completion; a completion
// covers all sends before it, since those of one queue end in their order.
//
// Messages may go by RDMA writes instead, each into the memory that its receive has. If no receive
// completes with a write, both sides count their messages in step, and the last byte holds the
// count.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "fabricgauge/messages.hpp"
#include "fabricgauge/verbs_device.hpp"

namespace fabricgauge {

// The messages that an operation of a pattern receives, in this order: `count` messages, then
// perhaps an empty one.
struct Arrivals {
    std::byte* data;
    std::int64_t stride;
    std::int64_t bytes;
    std::int64_t count;
    bool acknowledged;

    std::int64_t messages() const noexcept { return count + (acknowledged ? 1 : 0); }
};

// The address of a queue pair and of its window. Ranks send it unchanged.
struct VerbsAddress {
    std::uint32_t queue_pair;  // that receives
    std::uint32_t sender;      // another one where connections are extended
    std::uint32_t receives;    // the number of their queue then
    std::uint32_t sequence;  // number of its first packet
    std::uint8_t gid[16];
    std::uint64_t window;
    std::uint32_t window_key;
    std::uint16_t lid;
    std::uint64_t messages;  // where the first one of an operation belongs
    std::int64_t stride;
    std::int64_t count;
};

enum class VerbsOperation : std::uint64_t { send, write, read, fetch_and_add, compare_and_swap, receive };

const char* name_of(VerbsOperation operation) noexcept;

// `burst` is how many messages or operations are started before they are waited for. Receives go to
// the queue that is `shared`, if there is one: then another queue pair's message may take them.
struct VerbsPlan {
    std::int64_t burst;
    Arrivals arrivals;
    ibv_srq* shared = nullptr;
};

class VerbsPair {
public:
    // At the end of each message by a write.
    static constexpr std::int64_t count_bytes = 1;

    // With its receives posted. `memory` is where all of its data lie.
    VerbsPair(const VerbsDevice& device, const VerbsLimits& limits, const VerbsMemory& memory,
              const VerbsPlan& plan, int peer);

    // Throws RdmaError.
    VerbsAddress address() const;
    void connect(const VerbsAddress& other);

    // A message by itself; its memory is free when an answer to it has come.
    void send(const std::byte* data, std::int64_t bytes) {
        if (by_ == MessagesBy::write) raise_flag(data, bytes);
        carry(data, bytes, false);
    }
    // The next one that comes, which belongs to `data`.
    void receive(const std::byte* data, std::int64_t bytes) {
        if (by_ == MessagesBy::write) await_flag(data, bytes);
        else await(1);
    }
    // A message of a window.
    void stream(const std::byte* data, std::int64_t bytes) {
        carry(data, bytes, ends_burst());
        streamed_ = posted_;
    }
    void await_streamed() {
        while (completed_ < streamed_) poll();
    }
    // The next `messages` that come.
    void await(std::int64_t messages) {
        awaited_ += messages;
        while (received_ < awaited_) poll();
    }

    void write(const std::byte* data, std::int64_t bytes, std::int64_t displacement) {
        aim(displacement);
        post(VerbsOperation::write, IBV_WR_RDMA_WRITE, data, bytes, ends_burst());
    }
    void read(std::byte* data, std::int64_t bytes, std::int64_t displacement) {
        aim(displacement);
        post(VerbsOperation::read, IBV_WR_RDMA_READ, data, bytes, ends_burst());
    }
    void fetch_and_add(const std::byte* added, std::byte* found) {
        aim_at_word(word(added), 0);
        post(VerbsOperation::fetch_and_add, IBV_WR_ATOMIC_FETCH_AND_ADD, found, 8, ends_burst());
    }
    void compare_and_swap(const std::byte* swapped, const std::byte* compared, std::byte* found) {
        aim_at_word(word(compared), word(swapped));
        post(VerbsOperation::compare_and_swap, IBV_WR_ATOMIC_CMP_AND_SWP, found, 8, ends_burst());
    }
    // Every operation that was started has its completion.
    void await_posted() {
        while (completed_ < posted_) poll();
    }

private:
    static constexpr int batch = 16;
    // Looks in vain until others may have the processor: longer than an adapter's round trip lasts.
    static constexpr int patience = 1024;
    static constexpr int kind_bit = 56;
    static constexpr std::uint64_t number_mask = (std::uint64_t{1} << kind_bit) - 1;

    static std::uint64_t identity(VerbsOperation operation, std::int64_t number) noexcept {
        return static_cast<std::uint64_t>(operation) << kind_bit | static_cast<std::uint64_t>(number);
    }
    static VerbsOperation operation_of(std::uint64_t identity) noexcept {
        return static_cast<VerbsOperation>(identity >> kind_bit);
    }
    static std::uint64_t word(const std::byte* data) noexcept {
        std::uint64_t value;
        std::memcpy(&value, data, sizeof value);
        return value;
    }

    bool ends_burst() noexcept {
        if (++in_burst_ < burst_) return false;
        in_burst_ = 0;
        return true;
    }

    void carry(const std::byte* data, std::int64_t bytes, bool last) {
        if (by_ == MessagesBy::send) return post(VerbsOperation::send, IBV_WR_SEND, data, bytes, last);
        aim_at_message(bytes);
        const bool told = by_ == MessagesBy::write_imm;
        post(VerbsOperation::write, told ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE, data, bytes, last);
    }
    // An empty one belongs nowhere.
    void aim_at_message(std::int64_t bytes) noexcept {
        request_.wr.rdma.remote_addr = other_.messages + static_cast<std::uint64_t>(place_there_ * other_.stride);
        request_.wr.rdma.rkey = other_.window_key;
        if (bytes > 0) place_there_ = place_there_ + 1 < other_.count ? place_there_ + 1 : 0;
    }
    // The data are the case's own, and this byte of them is not compared.
    void raise_flag(const std::byte* data, std::int64_t bytes) noexcept {
        const_cast<std::byte*>(data)[bytes - 1] = std::byte{++flag_};
    }
    void await_flag(const std::byte* data, std::int64_t bytes) {
        const auto* const last = reinterpret_cast<const std::atomic<std::uint8_t>*>(data + bytes - 1);
        ++flag_;
        for (unsigned looks = 1; last->load(std::memory_order_acquire) != flag_; ++looks)
            if (looks % patience == 0) {
                poll();
                give_way();
            }
    }

    void aim(std::int64_t displacement) noexcept {
        request_.wr.rdma.remote_addr = other_.window + static_cast<std::uint64_t>(displacement);
        request_.wr.rdma.rkey = other_.window_key;
    }
    void aim_at_word(std::uint64_t compare_add, std::uint64_t swap) noexcept {
        request_.wr.atomic.remote_addr = other_.window;
        request_.wr.atomic.compare_add = compare_add;
        request_.wr.atomic.swap = swap;
        request_.wr.atomic.rkey = other_.window_key;
    }

    void post(VerbsOperation operation, ibv_wr_opcode opcode, const std::byte* data,
              std::int64_t bytes, bool last) {
        while (posted_ - completed_ >= depth_) poll();
        place_.addr = reinterpret_cast<std::uint64_t>(data);
        place_.length = static_cast<std::uint32_t>(bytes);
        request_.wr_id = identity(operation, posted_);
        request_.num_sge = bytes > 0 ? 1 : 0;
        request_.opcode = opcode;
        request_.send_flags = 0;
        const bool carries = operation == VerbsOperation::send || operation == VerbsOperation::write;
        if (carries && bytes <= inline_bytes_) request_.send_flags |= IBV_SEND_INLINE;
        if (++unsignalled_ >= signal_interval_ || last) {
            request_.send_flags |= IBV_SEND_SIGNALED;
            unsignalled_ = 0;
        }
        ibv_send_wr* refused = nullptr;
        const int error = ibv_post_send(pair_.get(), &request_, &refused);
        if (error != 0) fail_post(operation, error);
        ++posted_;
    }

    void post_receive(std::uint64_t place) {
        ibv_recv_wr* refused = nullptr;
        ibv_recv_wr* const receive = &receives_[place];
        const int error = shared_ == nullptr ? ibv_post_recv(pair_.get(), receive, &refused)
                                             : ibv_post_srq_recv(shared_, receive, &refused);
        if (error != 0) fail_post(VerbsOperation::receive, error);
        ++posted_receives_;
    }

    void poll() {
        ibv_wc done[batch];
        const int count = ibv_poll_cq(completions_.get(), batch, done);
        if (count < 0) fail_post(VerbsOperation::receive, -count);
        empty_ = count == 0 ? empty_ + 1 : 0;
        // A driver in software needs the processor to make progress during this wait.
        if (empty_ >= patience) give_way();
        for (int i = 0; i < count; ++i) {
            if (done[i].status != IBV_WC_SUCCESS) fail_completion(done[i]);
            const std::uint64_t number = done[i].wr_id & number_mask;
            if (operation_of(done[i].wr_id) == VerbsOperation::receive) {
                ++received_;
                // One that another queue pair posted may have a higher number.
                post_receive(number < receives_.size() ? number : 0);
            } else {
                completed_ = static_cast<std::int64_t>(number) + 1;
            }
        }
    }

    void give_way() noexcept;
    void create(const VerbsLimits& limits);
    void prepare(const Arrivals& arrivals, std::uint32_t local_key);
    void extend(std::int64_t receives);
    void initialise(ibv_qp& pair);
    void make_ready_to_receive(ibv_qp& pair, std::uint32_t other, const ibv_ah_attr& way);
    void make_ready_to_send(ibv_qp& pair);
    ibv_ah_attr way_to(const VerbsAddress& other) const noexcept;
    void address_datagrams(const VerbsAddress& other, ibv_ah_attr way);
    void modify(ibv_qp& pair, ibv_qp_attr& attributes, int mask, const char* state);
    [[noreturn]] void fail_post(VerbsOperation operation, int error) const;
    [[noreturn]] void fail_completion(const ibv_wc& failed);
    std::string where() const;

    const VerbsDevice& device_;
    QueuePairKind kind_;
    MessagesBy by_;
    int peer_;
    std::int64_t path_mtu_bytes_;
    std::int64_t reads_;
    std::int64_t inline_bytes_;
    std::int64_t signal_interval_;
    std::int64_t burst_;
    std::int64_t depth_;
    Arrivals arrivals_;
    ibv_srq* shared_;
    std::vector<ibv_sge> places_;  // of each receive two: a datagram's header, and what it carries
    std::vector<ibv_recv_wr> receives_;  // those of one operation
    Buffer headers_{0};
    VerbsMemory headers_memory_;
    std::unique_ptr<ibv_cq, int (*)(ibv_cq*)> completions_{nullptr, nullptr};
    SharedReceives extended_receives_{nullptr, nullptr};
    QueuePair extended_receiver_{nullptr, nullptr};
    QueuePair pair_{nullptr, nullptr};
    std::unique_ptr<ibv_ah, int (*)(ibv_ah*)> handle_{nullptr, nullptr};
    std::uint32_t sequence_;
    VerbsAddress other_{};
    ibv_sge place_{};
    ibv_send_wr request_{};
    std::int64_t posted_ = 0;
    std::int64_t completed_ = 0;
    std::int64_t streamed_ = 0;  // up to the last message of a window
    std::int64_t unsignalled_ = 0;
    std::int64_t in_burst_ = 0;
    std::int64_t awaited_ = 0;
    std::int64_t received_ = 0;
    std::int64_t posted_receives_ = 0;
    std::int64_t place_there_ = 0;
    std::uint8_t flag_ = 0;
    int empty_ = 0;
};

// The number of a queue pair's receives for the plan.
std::int64_t receives_for(const Arrivals& arrivals) noexcept;

}  // namespace fabricgauge
