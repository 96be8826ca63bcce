#include "fabricgauge/messages.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

namespace fabricgauge {

namespace {

std::int64_t sending_slots(const Case& measured, bool check) noexcept {
    return check ? window_slots(measured) : 1;
}

bool is_ping_pong(Pattern pattern) noexcept {
    return pattern == Pattern::latency || pattern == Pattern::all_pairs_latency;
}

std::int64_t receiving_slots(const Case& measured, bool check, PingPongBuffers buffers) noexcept {
    if (is_one_sided(measured.pattern)) return 0;
    if (is_ping_pong(measured.pattern) && !check && buffers == PingPongBuffers::shared)
        return 0;
    return window_slots(measured);
}

// Receives begin on a page of their own, so that every benchmark's alignment is the same.
std::int64_t padded(std::int64_t bytes) noexcept {
    return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

}  // namespace

Buffer::Buffer(std::int64_t bytes) {
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
    data_.reset(static_cast<std::byte*>(::operator new(size, std::align_val_t{page_bytes})));
    std::memset(data_.get(), 0x5a, size);
}

std::int64_t window_slots(const Case& measured) noexcept {
    return has_window(measured.pattern) ? measured.window : 1;
}

Messages::Messages(const Case& measured, bool check, std::byte* window_memory,
                   PingPongBuffers buffers)
    : bytes_(measured.message_bytes), count_(window_slots(measured)),
      memory_(padded(bytes_ * sending_slots(measured, check)) +
              bytes_ * receiving_slots(measured, check, buffers)),
      slots_{memory_.data(), window_memory, nullptr, check ? bytes_ : 0, bytes_} {
    if (slots_.in == nullptr)
        slots_.in = receiving_slots(measured, check, buffers) == 0
                        ? memory_.data()
                        : memory_.data() + padded(bytes_ * sending_slots(measured, check));
    slots_.reply = check ? slots_.in : slots_.out;
}

void Messages::fill(Author author, std::uint64_t sample) noexcept {
    for (std::int64_t slot = 0; slot < count_; ++slot)
        fill_pattern(memory_.data() + slot * slots_.out_stride, static_cast<std::size_t>(bytes_),
                     pattern_seed(author, sample, static_cast<std::uint64_t>(slot)));
}

void Messages::verify(Author author, std::uint64_t sample, int rank,
                      Mismatch& found) const noexcept {
    for (std::int64_t slot = 0; slot < count_ && found.found == 0; ++slot) {
        const std::uint64_t seed = pattern_seed(author, sample, static_cast<std::uint64_t>(slot));
        const std::byte* const data = slots_.incoming(slot);
        const auto offset = first_mismatch(data, static_cast<std::size_t>(bytes_), seed);
        if (!offset) continue;
        found = {1, static_cast<std::int64_t>(*offset), static_cast<std::int64_t>(sample), slot,
                 rank, static_cast<std::int64_t>(pattern_byte(*offset, seed)),
                 static_cast<std::int64_t>(data[*offset])};
    }
}

std::int64_t memory_needed_bytes(const Case& measured, bool check,
                                 PingPongBuffers buffers) noexcept {
    const std::int64_t in_window = is_one_sided(measured.pattern) ? window_slots(measured) : 0;
    return measured.message_bytes *
           (sending_slots(measured, check) + receiving_slots(measured, check, buffers) +
            in_window);
}

std::optional<std::int64_t> memory_available_bytes() {
    std::ifstream meminfo("/proc/meminfo");
    std::string key;
    std::string unit;
    for (std::int64_t kibibytes = 0; meminfo >> key >> kibibytes;) {
        if (key == "MemAvailable:") return kibibytes * 1024;
        std::getline(meminfo, unit);
    }
    return std::nullopt;
}

}  // namespace fabricgauge
