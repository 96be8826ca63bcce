// Medians of blocks of consecutive samples, in time order.
//
// Consecutive samples are not independent; medians of blocks stand in for independent
// observations. At most 512 values are kept: when they are full, neighbours are merged (the mean
// of the two), and each later value spans twice as many blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fabricgauge {

// Median of count > 0 values, which are reordered; the mean of the middle two for an even count.
double median_of(std::int64_t* values, std::size_t count) noexcept;
double median_of(double* values, std::size_t count) noexcept;

class BlockSeries {
public:
    static constexpr std::size_t capacity = 512;

    BlockSeries();

    void add(double median_ps) noexcept;

    // Number of blocks that were added, merged or not.
    std::int64_t blocks() const noexcept { return blocks_; }
    // The values in time order; the last may span fewer blocks than the others.
    const std::vector<double>& medians_ps() const noexcept { return medians_; }

private:
    void merge_neighbours() noexcept;

    std::vector<double> medians_;
    std::int64_t blocks_ = 0;
    std::int64_t span_ = 1;
    std::int64_t in_last_ = 0;
};

}  // namespace fabricgauge
