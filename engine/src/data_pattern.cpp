#include "fabricgauge/data_pattern.hpp"

#include <cstdio>
#include <cstring>

namespace fabricgauge {

namespace {

// SplitMix64's finaliser: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014.
std::uint64_t mix(std::uint64_t value) noexcept {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

std::uint64_t word_at(std::size_t word, std::uint64_t seed) noexcept {
    return mix(seed + word * 0x9e3779b97f4a7c15U);
}

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

}  // namespace

std::uint64_t pattern_seed(Author author, std::uint64_t sample, std::uint64_t slot) noexcept {
    return mix(mix(sample * 4 + static_cast<std::uint64_t>(author)) + slot);
}

std::byte pattern_byte(std::size_t offset, std::uint64_t seed) noexcept {
    const std::uint64_t word = word_at(offset / word_bytes, seed);
    std::byte bytes[word_bytes];
    std::memcpy(bytes, &word, word_bytes);
    return bytes[offset % word_bytes];
}

void fill_pattern(std::byte* data, std::size_t bytes, std::uint64_t seed) noexcept {
    const std::size_t words = bytes / word_bytes;
    for (std::size_t i = 0; i < words; ++i) {
        const std::uint64_t word = word_at(i, seed);
        std::memcpy(data + i * word_bytes, &word, word_bytes);
    }
    for (std::size_t i = words * word_bytes; i < bytes; ++i) data[i] = pattern_byte(i, seed);
}

std::optional<std::size_t> first_mismatch(const std::byte* data, std::size_t bytes,
                                          std::uint64_t seed) noexcept {
    std::size_t from = 0;
    for (; from + word_bytes <= bytes; from += word_bytes) {
        const std::uint64_t expected = word_at(from / word_bytes, seed);
        if (std::memcmp(data + from, &expected, word_bytes) != 0) break;
    }
    for (std::size_t i = from; i < bytes; ++i)
        if (data[i] != pattern_byte(i, seed)) return i;
    return std::nullopt;
}

std::string describe(const Mismatch& mismatch) {
    char text[160];
    std::snprintf(text, sizeof text,
                  "rank %lld, checked sample %lld, message %lld of the window: expected 0x%02llx, "
                  "received 0x%02llx",
                  static_cast<long long>(mismatch.rank), static_cast<long long>(mismatch.sample),
                  static_cast<long long>(mismatch.slot),
                  static_cast<unsigned long long>(mismatch.expected),
                  static_cast<unsigned long long>(mismatch.received));
    return text;
}

}  // namespace fabricgauge
