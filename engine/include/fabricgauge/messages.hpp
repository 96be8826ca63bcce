// The memory that the messages of one case come from and go to, on one rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/data_pattern.hpp"

namespace fabricgauge {

// Page-aligned memory, every page of it touched.
class Buffer {
public:
    explicit Buffer(std::int64_t bytes);
    std::byte* data() const noexcept { return data_.get(); }

private:
    struct Free {
        void operator()(std::byte* data) const noexcept {
            ::operator delete(data, std::align_val_t{4096});
        }
    };
    std::unique_ptr<std::byte, Free> data_;
};

// Receives have a slot for each message of the window, since MPI does not allow pending receives
// to overlap; sends share one, unless each message is to have bytes of its own.
class Messages {
public:
    // `window_memory` is where one-sided operations of the peer arrive, else null. Without a check
    // a latency message comes back to the buffer that it was sent from.
    Messages(const Case& measured, bool check, std::byte* window_memory);

    const std::byte* outgoing(std::int64_t slot) const noexcept { return out_ + slot * out_stride_; }
    std::byte* incoming(std::int64_t slot) const noexcept { return in_ + slot * bytes_; }

    void fill(Author author, std::uint64_t sample) noexcept;
    // `found` keeps the first mismatch of the case.
    void verify(Author author, std::uint64_t sample, int rank, Mismatch& found) const noexcept;

private:
    std::int64_t bytes_;
    std::int64_t slots_;
    std::int64_t out_stride_;
    Buffer memory_;
    std::byte* out_;
    std::byte* in_;
};

// Largest amount of memory that one rank needs for a case.
std::int64_t memory_needed_bytes(const Case& measured, bool check) noexcept;
std::int64_t window_slots(const Case& measured) noexcept;
// MemAvailable of /proc/meminfo.
std::optional<std::int64_t> memory_available_bytes();

}  // namespace fabricgauge
