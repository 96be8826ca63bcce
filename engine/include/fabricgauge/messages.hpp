// The memory that the messages of one case come from and go to, on one rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/data_pattern.hpp"
#include "fabricgauge/device_memory.hpp"

namespace fabricgauge {

constexpr std::int64_t page_bytes = 4096;

// Page-aligned memory of the host, or memory of a device; every page of it touched.
class Buffer {
public:
    explicit Buffer(std::int64_t bytes, DeviceMemory* device = nullptr);
    std::byte* data() const noexcept { return data_.get(); }
    std::int64_t bytes() const noexcept { return bytes_; }
    // Null where it is the host's.
    DeviceMemory* device() const noexcept { return data_.get_deleter().device; }

private:
    struct Free {
        DeviceMemory* device;
        void operator()(std::byte* data) const noexcept {
            if (device != nullptr)
                device->release(data);
            else
                ::operator delete(data, std::align_val_t{page_bytes});
        }
    };
    std::int64_t bytes_;
    std::unique_ptr<std::byte, Free> data_;
};

// The position of a sample's messages. It is a separate value, so that a loop around calls into the
// message layer, which might change anything in memory, keeps it in registers.
struct Slots {
    const std::byte* out;
    std::byte* in;
    // The target's reply of a ping-pong; the comparand of compare-and-swap.
    const std::byte* reply;
    std::int64_t out_stride;
    std::int64_t in_stride;

    const std::byte* outgoing(std::int64_t slot) const noexcept { return out + slot * out_stride; }
    std::byte* incoming(std::int64_t slot) const noexcept { return in + slot * in_stride; }
};

// The number of slots follows the case's buffers; when data are checked, each message has bytes of
// its own at both ends. Each thread has its own slots, on pages of their own.
class Messages {
public:
    // One-sided operations of the peer write or read `window_memory`, null without them. With a
    // check, a ping-pong has separate buffers, and the target returns what it received.
    Messages(const Case& measured, bool check, std::byte* window_memory);
    // The memory has the size of slots_bytes; or it is the memory of the window, which has a
    // sample's payload.
    Messages(const Case& measured, bool check, Buffer memory, bool is_window = false);

    // The slots of one thread; only patterns with threads have more than one.
    const Slots& slots(int thread = 0) const noexcept {
        return threads_[static_cast<std::size_t>(thread)].slots;
    }

    // All memory of the slots, unless that is a window of the message layer's.
    const Buffer& memory() const noexcept { return memory_; }

    // Write the author's payload of the sample or, at the target of one-sided operations, the
    // window's content before it. Throws DeviceError, as verify does, if a copy from or to a device
    // fails.
    void fill(Author author, std::uint64_t sample);
    // Write the target's reply of a ping-pong in the sample, unless it is the received message.
    void fill_reply(Author author, std::uint64_t sample);
    // Compare the author's payload of the sample at its destination. `found` keeps the first
    // mismatch of the case. Without a check of all samples only the first 4 MiB of each thread's
    // messages are compared, at least one message.
    void verify(Author author, std::uint64_t sample, int rank, Mismatch& found);
    // The last bytes of each message are the message layer's own and are not compared.
    void leave_out_last(std::int64_t bytes) noexcept { left_out_ = bytes; }
    // Return false if that leaves nothing of a message.
    bool compares() const noexcept { return left_out_ == 0 || bytes_ > left_out_; }

private:
    struct Places {
        Slots slots;
        std::byte* filled;    // null where nothing is sent
        std::byte* compared;  // null but for compare-and-swap
    };

    Places places_at_window(std::byte* window) const noexcept;
    static Places places_in(std::byte* memory, const Case& measured, bool check) noexcept;
    void take_away(Author author, std::uint64_t sample) noexcept;
    // Messages of a thread that are compared.
    std::int64_t compared_slots() const noexcept;
    // The place in the window that determines a message's pattern: the first slot if the author
    // sends all messages from one slot.
    std::uint64_t place_of(Author author, std::int64_t thread, std::int64_t slot) const noexcept;
    void fill_message(std::byte* place, std::uint64_t seed);
    // The content of a place, on the host.
    const std::byte* read_message(const std::byte* place) const;

    Pattern pattern_;
    std::int64_t bytes_;
    std::int64_t count_;  // messages of a thread
    std::int64_t left_out_ = 0;
    bool check_;
    bool sends_apart_;  // each message is sent from bytes of its own
    bool at_window_;
    Buffer memory_;
    std::optional<Buffer> copy_;  // on the host, of one message in memory of a device
    std::vector<Places> threads_;
};

// The size of all slots of a rank, each kind on separate pages.
std::int64_t slots_bytes(const Case& measured, bool check) noexcept;
// Largest amount of memory that one rank needs for a case.
std::int64_t memory_needed_bytes(const Case& measured, bool check) noexcept;
std::int64_t window_slots(const Case& measured) noexcept;
// All threads' together, per direction that has payload.
std::int64_t payload_of_operation_bytes(const Case& measured) noexcept;
// MemAvailable of /proc/meminfo.
std::optional<std::int64_t> memory_available_bytes();

}  // namespace fabricgauge
