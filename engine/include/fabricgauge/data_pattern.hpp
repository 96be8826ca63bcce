// The bytes of a message that can be checked, and the check.
//
// Every byte depends on its offset and on a seed, which depends on author, sample and place in the
// window: a message that is stale, swapped with another, shifted or damaged does not match.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace fabricgauge {

enum class Author : std::uint64_t { origin = 1, target = 2 };

std::uint64_t pattern_seed(Author author, std::uint64_t sample, std::uint64_t slot) noexcept;
void fill_pattern(std::byte* data, std::size_t bytes, std::uint64_t seed) noexcept;
// Offset of the first byte that differs from the pattern.
std::optional<std::size_t> first_mismatch(const std::byte* data, std::size_t bytes,
                                          std::uint64_t seed) noexcept;
std::byte pattern_byte(std::size_t offset, std::uint64_t seed) noexcept;

// The first mismatch of a case, in a form that can be sent as it is.
struct Mismatch {
    std::int64_t found = 0;
    std::int64_t offset = 0;
    std::int64_t sample = 0;
    std::int64_t slot = 0;
    std::int64_t rank = 0;
    std::int64_t expected = 0;
    std::int64_t received = 0;
};

std::string describe(const Mismatch& mismatch);

}  // namespace fabricgauge
