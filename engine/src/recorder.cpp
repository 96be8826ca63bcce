#include "fabricgauge/recorder.hpp"

#include <algorithm>
#include <numeric>

#include "fabricgauge/warmup.hpp"

namespace fabricgauge {

Recorder::Recorder(std::size_t longest_block) : scratch_(longest_block) {
    waiting_samples_.reserve(most_waiting * longest_block);
    waiting_counts_.reserve(most_waiting);
    waiting_medians_.reserve(most_waiting);
}

void Recorder::add_block(const std::int64_t* samples_ps, std::size_t count) {
    const double median_ps = median_of_block(samples_ps, count);
    if (settled_) return keep(samples_ps, count, median_ps);
    wait(samples_ps, count, median_ps);
    if (blocks_waiting() < most_waiting) return;
    const std::size_t leading = leading_warmup(waiting_medians_);
    drop_leading(leading);
    if (has_settled(leading, most_waiting)) keep_waiting();
}

void Recorder::settle() {
    if (settled_) return;
    for (bool found = false; !found;) {
        const std::size_t searched = blocks_waiting();
        const std::size_t leading = leading_warmup(waiting_medians_);
        drop_leading(leading);
        found = has_settled(leading, searched) || blocks_waiting() < fewest_searched;
    }
    keep_waiting();
}

void Recorder::discard_all() {
    drop_leading(blocks_waiting());
    warmup_samples_ += samples();
    histogram_ = {};
    blocks_ = {};
    settled_ = false;
}

std::vector<double> Recorder::settled_medians_ps() const {
    if (settled_) return blocks_.medians_ps();
    const std::size_t leading = leading_warmup(waiting_medians_);
    if (!has_settled(leading, blocks_waiting())) return {};
    return {waiting_medians_.begin() + static_cast<std::ptrdiff_t>(leading), waiting_medians_.end()};
}

double Recorder::median_of_block(const std::int64_t* samples_ps, std::size_t count) {
    std::copy_n(samples_ps, count, scratch_.data());
    return median_of(scratch_.data(), count);
}

void Recorder::wait(const std::int64_t* samples_ps, std::size_t count, double median_ps) {
    waiting_samples_.insert(waiting_samples_.end(), samples_ps, samples_ps + count);
    waiting_counts_.push_back(count);
    waiting_medians_.push_back(median_ps);
}

void Recorder::keep(const std::int64_t* samples_ps, std::size_t count, double median_ps) {
    for (std::size_t i = 0; i < count; ++i) histogram_.add(samples_ps[i]);
    blocks_.add(median_ps);
}

void Recorder::drop_leading(std::size_t blocks) {
    const auto counted = static_cast<std::ptrdiff_t>(blocks);
    const std::size_t samples = std::accumulate(waiting_counts_.begin(),
                                                waiting_counts_.begin() + counted, std::size_t{0});
    warmup_samples_ += static_cast<std::int64_t>(samples);
    waiting_samples_.erase(waiting_samples_.begin(),
                           waiting_samples_.begin() + static_cast<std::ptrdiff_t>(samples));
    waiting_counts_.erase(waiting_counts_.begin(), waiting_counts_.begin() + counted);
    waiting_medians_.erase(waiting_medians_.begin(), waiting_medians_.begin() + counted);
}

void Recorder::keep_waiting() {
    const std::int64_t* samples = waiting_samples_.data();
    for (std::size_t i = 0; i < blocks_waiting(); ++i) {
        keep(samples, waiting_counts_[i], waiting_medians_[i]);
        samples += waiting_counts_[i];
    }
    waiting_samples_.clear();
    waiting_counts_.clear();
    waiting_medians_.clear();
    settled_ = true;
}

}  // namespace fabricgauge
