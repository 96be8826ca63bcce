#include "fabricgauge/concurrent_director.hpp"

#include <algorithm>
#include <cmath>

#include "fabricgauge/batching.hpp"

namespace fabricgauge {

namespace {

constexpr std::int64_t probes = 5;
constexpr double rounds_in_budget = 16.0;
// It grows from there to a millisecond.
constexpr std::int64_t first_block = 16;
// Ranks leave a barrier some microseconds apart; until all are at work nothing is timed.
constexpr double lead_in_s = 1e-4;
// The time that a rank goes on before it checks again that the other ranks have finished.
constexpr double further_s = 5e-5;

std::int64_t operations_in(double length_s, double operation_s) {
    const double operations = std::ceil(length_s / std::max(operation_s, 1e-9));
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(operations), 1, 100'000);
}

}  // namespace

ConcurrentDirector::ConcurrentDirector(const Case& measured, const Precision& precision, int ranks,
                             std::int64_t trips, std::int64_t longest_batch, bool crowded,
                             Deciding deciding)
    : measured_(measured), precision_(precision), ranks_(ranks),
      operation_per_ps_(static_cast<double>(trips) * 1e-12), longest_batch_(longest_batch),
      recorder_(static_cast<std::size_t>(std::max<std::int64_t>(most_samples_of_block, ranks))),
      interval_(precision.relative_half_width, precision.confidence),
      gate_(measured, precision, measured.budget_s, crowded, deciding),
      iterations_(precision.iterations),
      together_(static_cast<std::size_t>(std::max<std::int64_t>(most_samples_of_block, ranks))),
      asks_(gate_.reads()) {}

std::int64_t ConcurrentDirector::longest_round() const noexcept {
    return most_blocks_of_round * std::max<std::int64_t>(1, most_samples_of_block / ranks_);
}

ConcurrentRound ConcurrentDirector::next() const {
    const std::int64_t counts = last_counts_ ? 1 : 0;
    const std::int64_t anew = anew_ ? 1 : 0;
    if (asks_) return {-1, 0, 0, 0, 0, counts, anew};
    if (stop_ != Stop::none) return {0, 0, 0, 0, 0, counts, anew};
    const std::int64_t lead_in = precision_.check_data ? 0 : 1;
    if (phase_ == Phase::first) return {1, 1, 0, 1, 1, 0};
    const std::int64_t further = operations_in(further_s, slowest_s_);
    if (phase_ == Phase::probes) return {probes, 1, lead_in, probes, further, counts, anew};
    const double round_s = static_cast<double>(block_ * blocks_ * batch_) * slowest_s_;
    const double lead_s = std::min(lead_in_s, 0.1 * round_s);
    return {iterations_.clip(block_ * blocks_, taken()), batch_,
            lead_in * operations_in(lead_s, slowest_s_), block_, further, counts, anew};
}

void ConcurrentDirector::take(const ConcurrentRound& round, const std::int64_t* samples_ps,
                              double elapsed_s, double round_s) {
    last_counts_ = anew_ = false;
    rounds_s_ += round_s;
    switch (phase_) {
        case Phase::first: return take_first(samples_ps, elapsed_s, round_s);
        case Phase::probes: return take_probes(samples_ps);
        case Phase::measuring: return take_blocks(round, samples_ps, elapsed_s, round_s);
    }
}

// Samples of each rank that are kept or may be.
std::int64_t ConcurrentDirector::taken() const noexcept {
    return (recorder_.samples() + recorder_.samples_waiting()) / ranks_;
}

void ConcurrentDirector::take_first(const std::int64_t* samples_ps, double elapsed_s,
                                    double round_s) {
    const std::int64_t slowest_ps = *std::max_element(samples_ps, samples_ps + ranks_);
    slowest_s_ = static_cast<double>(slowest_ps) * operation_per_ps_;
    phase_ = Phase::probes;
    if (slowest_s_ >= shortest_first_sample_s || 2.0 * slowest_s_ > measured_.budget_s) {
        const ConcurrentRound first{1, 1, 0, 1, 1, 0};
        choose(slowest_s_, slowest_s_);
        add_block(first, samples_ps, 0, 1);
        Stop stop = Stop::none;
        if (gate_.is_spent(elapsed_s, slowest_s_)) stop = Stop::budget;
        if (iterations_.reached(1)) stop = Stop::iterations;
        return end_at(stop, first, elapsed_s, round_s);
    }
    recorder_.discard(ranks_);
    if (gate_.is_spent(elapsed_s, probes * slowest_s_)) choose(slowest_s_, slowest_s_);
}

void ConcurrentDirector::take_probes(const std::int64_t* samples_ps) {
    recorder_.discard(ranks_ * probes);
    std::vector<double> operations_s;
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
        std::int64_t own[probes];
        std::copy_n(samples_ps + rank * probes, probes, own);
        operations_s.push_back(median_of(own, probes) * operation_per_ps_);
    }
    const double slowest_s = *std::max_element(operations_s.begin(), operations_s.end());
    choose(slowest_s, median_of(operations_s.data(), operations_s.size()));
}

// One batch for all, by the typical rank; the block's length by the slowest: all wait for it.
void ConcurrentDirector::choose(double slowest_s, double typical_s) {
    phase_ = Phase::measuring;
    slowest_s_ = slowest_s;
    if (!precision_.check_data)
        batch_ = std::min(longest_batch_, batch_for(typical_s, precision_.clock_overhead_s));
    const double sample_s = slowest_s * static_cast<double>(batch_);
    const std::int64_t room = std::max<std::int64_t>(1, most_samples_of_block / ranks_);
    block_ = std::min({block_samples_for(sample_s, measured_.budget_s, measured_.message_bytes), room, first_block});
}

void ConcurrentDirector::add_block(const ConcurrentRound& round, const std::int64_t* samples_ps,
                              std::int64_t first, std::int64_t count) {
    last_counts_ = true;
    std::int64_t slowest_ps = 0;
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
        const std::int64_t* const own = samples_ps + rank * round.samples + first;
        std::copy_n(own, count, together_.data() + rank * count);
        std::int64_t sum_ps = 0;
        for (std::int64_t i = 0; i < count; ++i) sum_ps += own[i];
        slowest_ps = std::max(slowest_ps, sum_ps);
    }
    recorder_.add_block(together_.data(), static_cast<std::size_t>(ranks_ * count));
    measured_s_ += static_cast<double>(slowest_ps * round.batch) * operation_per_ps_;
}

// If ranks share processors, samples are now and then a thousand times as long as the probes; and
// the very first operation may have set up connections. So longer rounds are tried only when
// shorter ones have kept to their time, and blocks follow.
void ConcurrentDirector::adapt(const ConcurrentRound& round, double round_s) {
    const double long_s = measured_.budget_s / rounds_in_budget;
    if (round_s > 2.0 * long_s) {
        block_ = std::max<std::int64_t>(
            1, static_cast<std::int64_t>(static_cast<double>(block_) * long_s / round_s));
        blocks_ = 1;
    } else if (round_s < long_s / 2.0 && round.samples == block_ * blocks_) {
        if (round_s < block_s / 2.0 * static_cast<double>(blocks_))
            block_ = std::min(2 * block_, longest_round() / most_blocks_of_round);
        else
            blocks_ = std::min(2 * blocks_, most_blocks_of_round);
    }
}

void ConcurrentDirector::take_blocks(const ConcurrentRound& round, const std::int64_t* samples_ps,
                                double elapsed_s, double round_s) {
    const std::int64_t before = taken();
    bool due = false;
    for (std::int64_t first = 0; first < round.samples; first += round.block) {
        add_block(round, samples_ps, first, std::min(round.block, round.samples - first));
        due = interval_.due(measured_s_) || due;
    }
    if (gate_.waits_out()) look_at_operations(round, samples_ps);
    adapt(round, round_s);
    // All further samples are kept, so that a case that never settles has samples.
    if (elapsed_s > measured_.budget_s / 2.0 &&
        recorder_.blocks_waiting() >= Recorder::fewest_searched)
        recorder_.settle();
    Stop stop = Stop::none;
    if (iterations_.reached(before + round.samples))
        stop = Stop::iterations;
    else if (gate_.is_spent(elapsed_s, round_s))
        stop = Stop::budget;
    else if (!iterations_.limits() && due && interval_.narrow(recorder_.settled_medians_ps()))
        stop = Stop::interval;
    end_at(stop, round, elapsed_s, round_s);
}

// The ranks' waits decide on the end, and while waits make all samples, on every round.
void ConcurrentDirector::end_at(Stop stop, const ConcurrentRound& round, double elapsed_s,
                                double round_s) {
    if (!gate_.reads()) {
        stop_ = stop;
        return;
    }
    asks_ = stop != Stop::none || gate_.waits_out();
    wanted_ = stop;
    round_samples_ = round.samples;
    round_s_ = round_s;
    elapsed_s_ = elapsed_s;
}

void ConcurrentDirector::take_waits(const GroupWaits& now) {
    last_counts_ = anew_ = asks_ = false;
    if (!begun_) {
        begun_ = true;
        return gate_.begin(now);
    }
    if (gate_.waits_out() && gate_.has_passed(now, round_samples_, round_s_, elapsed_s_))
        return begin_anew();
    switch (wanted_) {
        case Stop::none: return;
        case Stop::interval:
            if (!gate_.interval_ends(now, taken(), rounds_s_)) return;
            break;
        case Stop::budget:
            if (!gate_.budget_ends(now, taken(), rounds_s_, elapsed_s_)) return;
            break;
        case Stop::iterations: gate_.look(now, taken(), rounds_s_);
    }
    stop_ = wanted_;
}

void ConcurrentDirector::begin_anew() {
    anew_ = true;
    recorder_.discard_all();
    interval_ = {precision_.relative_half_width, precision_.confidence};
    measured_s_ = rounds_s_ = 0.0;
    blocks_ = 1;
    const double slowest_s = *std::max_element(operations_s_.begin(), operations_s_.end());
    choose(slowest_s, median_of(operations_s_.data(), operations_s_.size()));
}

void ConcurrentDirector::look_at_operations(const ConcurrentRound& round,
                                            const std::int64_t* samples_ps) {
    operations_s_.clear();
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
        const std::int64_t* const own = samples_ps + rank * round.samples;
        operations_s_.push_back(undisturbed_s({own, own + round.samples}) * 1e12 *
                                operation_per_ps_);
    }
}

}  // namespace fabricgauge
