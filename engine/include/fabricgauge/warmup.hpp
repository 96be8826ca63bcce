// Finding the warm-up in the data.
//
// The later half of the block medians stands for the settled state. Leading blocks count as
// warm-up as long as they lie outside its fences (Tukey's: 1.5 interquartile ranges beyond the
// quartiles), which are at least 1 % of its median away from the quartiles, so that noise below
// the aimed-at precision discards nothing. At most half of the blocks can be found to be warm-up:
// if it is exactly half, the series has not settled yet.
#pragma once

#include <cstddef>
#include <vector>

namespace fabricgauge {

// Fewer blocks than this show no trend.
constexpr std::size_t fewest_blocks_for_warmup = 6;

// Number of leading block medians that belong to the warm-up, 0 to half of them.
std::size_t leading_warmup(const std::vector<double>& medians_ps);

bool has_settled(std::size_t leading, std::size_t blocks) noexcept;

}  // namespace fabricgauge
