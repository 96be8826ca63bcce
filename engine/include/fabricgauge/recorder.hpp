// The processing of a case's samples: warm-up is put aside, the rest goes into the histogram and
// the block medians.
//
// The first blocks wait, with all their samples, until the end of the warm-up is known: at the end
// of the case, or when no more blocks can wait. Nothing here is called while a sample is being
// timed.
#pragma once

#include <cstdint>
#include <vector>

#include "fabricgauge/blocks.hpp"
#include "fabricgauge/histogram.hpp"

namespace fabricgauge {

class Recorder {
public:
    static constexpr std::size_t most_waiting = 64;
    // A search that does not find the end of the warm-up leaves at least half of these blocks.
    static constexpr std::size_t fewest_searched = 16;

    explicit Recorder(std::size_t longest_block);

    // count is 1 to the longest block.
    void add_block(const std::int64_t* samples_ps, std::size_t count);
    void discard(std::int64_t samples) noexcept { warmup_samples_ += samples; }
    // Treat all samples so far as warm-up, and begin anew.
    void discard_all();
    // Drop the warm-up among the waiting blocks, keep the others and all that follow.
    void settle();

    bool settled() const noexcept { return settled_; }
    std::size_t blocks_waiting() const noexcept { return waiting_counts_.size(); }
    std::int64_t samples_waiting() const noexcept {
        return static_cast<std::int64_t>(waiting_samples_.size());
    }
    // The block medians that would be kept if the case ended now; none if it has not settled yet.
    std::vector<double> settled_medians_ps() const;

    std::int64_t warmup_samples() const noexcept { return warmup_samples_; }
    std::int64_t samples() const noexcept { return histogram_.count(); }
    const Histogram& histogram() const noexcept { return histogram_; }
    const BlockSeries& blocks() const noexcept { return blocks_; }

private:
    double median_of_block(const std::int64_t* samples_ps, std::size_t count);
    void wait(const std::int64_t* samples_ps, std::size_t count, double median_ps);
    void keep(const std::int64_t* samples_ps, std::size_t count, double median_ps);
    void drop_leading(std::size_t blocks);
    void keep_waiting();

    std::vector<std::int64_t> waiting_samples_;
    std::vector<std::size_t> waiting_counts_;
    std::vector<double> waiting_medians_;
    std::vector<std::int64_t> scratch_;
    bool settled_ = false;
    std::int64_t warmup_samples_ = 0;
    Histogram histogram_;
    BlockSeries blocks_;
};

}  // namespace fabricgauge
