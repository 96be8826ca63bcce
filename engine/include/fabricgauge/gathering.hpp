// Collects texts of any length from all ranks at rank 0: in rounds, since MPI counts with int.
#pragma once

#include <cstdint>
#include <vector>

namespace fabricgauge {

// The most bytes that rank 0 receives in one call. An int would hold more, but a node's memory may
// not.
constexpr std::int64_t longest_gather_bytes = std::int64_t{64} << 20;

// Each of `members` sends at most `part_bytes` in each of `rounds` calls.
struct GatherRounds {
    std::int64_t part_bytes;
    std::int64_t rounds;

    // The part of a text of `length` bytes in that round: its first byte, and its number of bytes.
    std::int64_t begin(std::int64_t length, std::int64_t round) const noexcept;
    int count(std::int64_t length, std::int64_t round) const noexcept;
};

// For texts of at most `longest_bytes`. Throws std::length_error for more members than bytes fit.
GatherRounds gather_rounds(std::int64_t longest_bytes, std::int64_t members,
                           std::int64_t most_bytes = longest_gather_bytes);

// The offsets of the members' parts in the bytes that rank 0 receives; the last entry is the total
// size.
std::vector<int> offsets_of(const std::vector<int>& counts);

// Throws std::length_error where an int does not hold it.
int checked_count(std::int64_t count);

}  // namespace fabricgauge
