#include "fabricgauge/gathering.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace fabricgauge {

std::int64_t GatherRounds::begin(std::int64_t length, std::int64_t round) const noexcept {
    return std::min(length, round * part_bytes);
}

int GatherRounds::count(std::int64_t length, std::int64_t round) const noexcept {
    return static_cast<int>(std::min(part_bytes, length - begin(length, round)));
}

GatherRounds gather_rounds(std::int64_t longest_bytes, std::int64_t members,
                           std::int64_t most_bytes) {
    const std::int64_t part = std::min<std::int64_t>(most_bytes, std::numeric_limits<int>::max()) /
                              std::max<std::int64_t>(1, members);
    if (part < 1)
        throw std::length_error("texts of " + std::to_string(members) + " ranks do not fit into " +
                                std::to_string(most_bytes) + " bytes, not even a byte of each");
    return {part, (longest_bytes + part - 1) / part};
}

std::vector<int> offsets_of(const std::vector<int>& counts) {
    std::vector<int> offsets{0};
    std::int64_t end = 0;
    for (const int count : counts) offsets.push_back(checked_count(end += count));
    return offsets;
}

int checked_count(std::int64_t count) {
    if (count < 0 || count > std::numeric_limits<int>::max())
        throw std::length_error(std::to_string(count) + " is no count that MPI takes in one call");
    return static_cast<int>(count);
}

}  // namespace fabricgauge
