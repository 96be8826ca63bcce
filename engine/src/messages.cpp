#include "fabricgauge/messages.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

namespace fabricgauge {

namespace {

constexpr int fresh = 0x5a;
// More would take as long as the measurement; with this 2,900 frames of a network are compared.
constexpr std::int64_t most_compared_bytes = 4 * 1024 * 1024;

bool is_ping_pong(Pattern pattern) noexcept {
    return pattern == Pattern::latency || pattern == Pattern::all_pairs_latency ||
           pattern == Pattern::persistent_latency || pattern == Pattern::threads_latency;
}

bool adds(Pattern pattern) noexcept {
    return pattern == Pattern::accumulate_latency || pattern == Pattern::fetch_and_op_latency;
}

// Return true if data return to the origin of a one-sided operation.
bool fetches(Pattern pattern) noexcept {
    return pattern == Pattern::get_latency || pattern == Pattern::get_bandwidth ||
           pattern == Pattern::fetch_and_op_latency || pattern == Pattern::compare_and_swap_latency;
}

std::int64_t sending_slots(const Case& measured, bool check) noexcept {
    if (measured.pattern == Pattern::get_latency || measured.pattern == Pattern::get_bandwidth)
        return 0;
    return check || measured.buffers == Buffers::multiple ? window_slots(measured) : 1;
}

std::int64_t comparing_slots(const Case& measured) noexcept {
    return measured.pattern == Pattern::compare_and_swap_latency ? 1 : 0;
}

std::int64_t receiving_slots(const Case& measured, bool check) noexcept {
    if (is_one_sided(measured.pattern)) return fetches(measured.pattern) ? window_slots(measured) : 0;
    if (is_ping_pong(measured.pattern) && !check && measured.buffers == Buffers::fewest) return 0;
    return measured.buffers == Buffers::single ? 1 : window_slots(measured);
}

std::int64_t threads_of(const Case& measured) noexcept {
    return is_threaded(measured.pattern) ? measured.threads : 1;
}

// Each kind of slots begins on a page of its own, so that every benchmark's alignment is the same.
std::int64_t padded(std::int64_t bytes) noexcept {
    return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

// From one slot to the next of its kind.
std::int64_t stride_bytes(const Case& measured) noexcept {
    return measured.buffers == Buffers::multiple ? padded(measured.message_bytes)
                                                 : measured.message_bytes;
}

std::int64_t thread_bytes(const Case& measured, bool check) noexcept {
    const std::int64_t stride = stride_bytes(measured);
    return padded(stride * sending_slots(measured, check)) +
           padded(measured.message_bytes * comparing_slots(measured)) +
           padded(stride * receiving_slots(measured, check));
}

}  // namespace

Buffer::Buffer(std::int64_t bytes, DeviceMemory* device)
    : bytes_(std::max<std::int64_t>(bytes, 1)), data_(nullptr, Free{device}) {
    if (device != nullptr) {
        data_.reset(device->allocate(bytes_, fresh));
        return;
    }
    const auto size = static_cast<std::size_t>(bytes_);
    data_.reset(static_cast<std::byte*>(::operator new(size, std::align_val_t{page_bytes})));
    std::memset(data_.get(), fresh, size);
}

std::int64_t slots_bytes(const Case& measured, bool check) noexcept {
    return threads_of(measured) * thread_bytes(measured, check);
}

std::int64_t window_slots(const Case& measured) noexcept {
    return has_window(measured.pattern) ? measured.window : 1;
}

std::int64_t payload_of_operation_bytes(const Case& measured) noexcept {
    return measured.message_bytes * window_slots(measured) * threads_of(measured);
}

Messages::Messages(const Case& measured, bool check, std::byte* window_memory)
    : Messages(measured, check,
               Buffer(window_memory != nullptr ? 0 : slots_bytes(measured, check))) {
    if (window_memory == nullptr) return;
    at_window_ = true;
    // Filled as memory_ is, so that compare-and-swap finds its comparand.
    std::memset(window_memory, fresh, static_cast<std::size_t>(bytes_ * count_));
    threads_ = {places_at_window(window_memory)};
}

Messages::Messages(const Case& measured, bool check, Buffer memory, bool is_window)
    : pattern_(measured.pattern), bytes_(measured.message_bytes), count_(window_slots(measured)),
      check_(check), sends_apart_(check || measured.buffers == Buffers::multiple),
      at_window_(is_window), memory_(std::move(memory)) {
    if (memory_.device() != nullptr) copy_.emplace(bytes_);
    if (is_window) {
        threads_ = {places_at_window(memory_.data())};
        return;
    }
    for (std::int64_t thread = 0; thread < threads_of(measured); ++thread)
        threads_.push_back(
            places_in(memory_.data() + thread * thread_bytes(measured, check), measured, check));
}

Messages::Places Messages::places_at_window(std::byte* window) const noexcept {
    return {{window, window, window, bytes_, bytes_}, window, nullptr};
}

Messages::Places Messages::places_in(std::byte* memory, const Case& measured, bool check) noexcept {
    const std::int64_t stride = stride_bytes(measured);
    const std::int64_t sent = sending_slots(measured, check);
    const bool share = measured.buffers == Buffers::single && has_window(measured.pattern);
    std::byte* const compared = memory + padded(stride * sent);
    std::byte* const in = compared + padded(measured.message_bytes * comparing_slots(measured));
    Places places{{memory, in, memory, sent > 1 ? stride : 0, share ? 0 : stride},
                  sent > 0 ? memory : nullptr, nullptr};
    if (receiving_slots(measured, check) == 0) places.slots.in = memory;
    if (check) places.slots.reply = places.slots.in;
    if (comparing_slots(measured) > 0) places.slots.reply = places.compared = compared;
    return places;
}

std::int64_t Messages::compared_slots() const noexcept {
    if (check_ || bytes_ == 0) return count_;
    return std::clamp<std::int64_t>(most_compared_bytes / bytes_, 1, count_);
}

std::uint64_t Messages::place_of(Author author, std::int64_t thread,
                                 std::int64_t slot) const noexcept {
    const bool in_window = is_one_sided(pattern_) && author == Author::target;
    return static_cast<std::uint64_t>(thread * count_ + (sends_apart_ || in_window ? slot : 0));
}

void Messages::fill_message(std::byte* place, std::uint64_t seed) {
    std::byte* const data = copy_ ? copy_->data() : place;
    fill_pattern(data, static_cast<std::size_t>(bytes_), seed);
    if (copy_ && bytes_ > 0) memory_.device()->to_device(place, data, bytes_);
}

const std::byte* Messages::read_message(const std::byte* place) const {
    if (!copy_ || bytes_ == 0) return place;
    memory_.device()->to_host(copy_->data(), place, bytes_);
    return copy_->data();
}

void Messages::fill(Author author, std::uint64_t sample) {
    std::int64_t number = 0;
    for (const Places& thread : threads_) {
        const std::int64_t filled = thread.slots.out_stride == 0 ? 1 : compared_slots();
        for (std::int64_t slot = 0; slot < filled && thread.filled != nullptr; ++slot)
            fill_message(thread.filled + slot * thread.slots.out_stride,
                         pattern_seed(author, sample, place_of(author, number, slot)));
        if (thread.compared != nullptr)
            fill_pattern(thread.compared, static_cast<std::size_t>(bytes_),
                         pattern_seed(Author::target, sample, 0));
        ++number;
    }
}

void Messages::fill_reply(Author author, std::uint64_t sample) {
    if (slots().reply != slots().in) fill(author, sample);
}

void Messages::verify(Author author, std::uint64_t sample, int rank, Mismatch& found) {
    if (at_window_ && adds(pattern_)) take_away(Author::target, sample);
    std::int64_t number = 0;
    for (const Places& thread : threads_) {
        for (std::int64_t slot = 0; slot < compared_slots() && found.found == 0; ++slot) {
            const std::uint64_t seed =
                pattern_seed(author, sample, place_of(author, number, slot));
            const std::byte* const data = read_message(thread.slots.incoming(slot));
            const auto offset = first_mismatch(data, static_cast<std::size_t>(bytes_ - left_out_), seed);
            if (!offset) continue;
            found = {1, static_cast<std::int64_t>(*offset), static_cast<std::int64_t>(sample),
                     number * count_ + slot, rank,
                     static_cast<std::int64_t>(pattern_byte(*offset, seed)),
                     static_cast<std::int64_t>(data[*offset])};
        }
        // The swap was made; the next ones compare with its result.
        if (!check_ && thread.compared != nullptr)
            std::memcpy(thread.compared, thread.filled, static_cast<std::size_t>(bytes_));
        ++number;
    }
}

// Subtract the known content, so that a sum in the window leaves the added value.
void Messages::take_away(Author author, std::uint64_t sample) noexcept {
    std::byte* const window = threads_.front().filled;
    const std::uint64_t seed = pattern_seed(author, sample, 0);
    for (std::int64_t offset = 0; offset < bytes_; offset += 8) {
        std::byte before[8];
        for (std::int64_t i = 0; i < 8; ++i)
            before[i] = pattern_byte(static_cast<std::size_t>(offset + i), seed);
        std::uint64_t sum;
        std::uint64_t known;
        std::memcpy(&sum, window + offset, 8);
        std::memcpy(&known, before, 8);
        sum -= known;
        std::memcpy(window + offset, &sum, 8);
    }
}

std::int64_t memory_needed_bytes(const Case& measured, bool check) noexcept {
    const std::int64_t at_origin = sending_slots(measured, check) + comparing_slots(measured) +
                                   receiving_slots(measured, check);
    const std::int64_t at_target = is_one_sided(measured.pattern) ? window_slots(measured) : 0;
    return stride_bytes(measured) * threads_of(measured) * std::max(at_origin, at_target);
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
