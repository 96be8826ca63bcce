// The part of rank 0 in a collective's case: it decides, and keeps the samples.
//
// A few iterations after barriers show how long the operation takes. Then the ranks agree on a
// clock and begin each iteration at an announced moment; its time is the last end minus the first
// start. Without a common clock or start, a barrier starts each iteration and its time is the
// slowest rank's: docs/development/clocks.md describes its bias.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "fabricgauge/batching.hpp"
#include "fabricgauge/collective_part.hpp"
#include "fabricgauge/collective_stops.hpp"
#include "fabricgauge/origin_part.hpp"
#include "fabricgauge/overlap.hpp"
#include "fabricgauge/start_window.hpp"

namespace fabricgauge {

// A clock that is further off than this share of an operation is not used: a barrier's own skew,
// about one message's time, is then no worse.
constexpr double largest_clock_error = 0.25;

template <typename Transport, typename Clock>
class CollectiveLead {
public:
    CollectiveLead(CollectivePart<Transport, Clock>& part, const Clock& clock,
                   SynchronisedClock<Transport, Clock>& common, const Case& measured,
                   const Precision& precision, bool crowded, TogetherResult& result)
        : part_(part), blocks_(part.blocks()), clock_(clock), common_(common),
          measured_(measured), precision_(precision), crowded_(crowded), result_(result),
          together_(result.together), stops_(new_stops()),
          samples_ps_(TogetherResult::longest_together_block) {}

    void run() {
        began_ns_ = clock_.now_ns();
        together_.timing = Timing::barrier;
        probe();
        if (result_.stop == Stop::none) {
            choose_timing();
            measure();
            result_.recorder.settle();
            if (is_nonblocking(measured_.pattern)) find_overlap();
            if (together_.timing == Timing::synchronised) renew();
        }
        result_.recorder.settle();
        part_.tell({CollectiveRound::end, 0, 0, 0, 0, 0, 0, 0});
        result_.wall_s = elapsed_s();
        result_.waiting = stops_.waiting();
    }

private:
    double elapsed_s() const { return static_cast<double>(clock_.now_ns() - began_ns_) * 1e-9; }

    // The duration of one operation; if there is no time for more, the first is the result.
    void probe() {
        after_barrier(1);
        if (precision_.iterations == 1 || (2.0 * operation_s_ > measured_.budget_s &&
                                           stops_.first_ends(operation_s_, elapsed_s()))) {
            const std::int64_t only_ps = blocks_.slowest_ns(0) * 1000;
            result_.recorder.add_block(&only_ps, 1);
            result_.stop = precision_.iterations == 1 ? Stop::iterations : Stop::budget;
        } else if (elapsed_s() + probes * operation_s_ < measured_.budget_s) {
            after_barrier(precision_.check_data ? 1 : probes);
        }
    }

    void after_barrier(std::int64_t samples) {
        part_.tell({CollectiveRound::after_barrier, samples, 0, 0, 0, 0, 0, 0});
        look_at_operation(samples);
    }

    // It sets the windows, so that a short block in which a rank was held up must not decide alone.
    void look_at_operation(std::int64_t samples) {
        for (std::int64_t i = 0; i < samples; ++i)
            samples_ps_[static_cast<std::size_t>(i)] = blocks_.slowest_ns(i) * 1000;
        const double seen_s =
            median_of(samples_ps_.data(), static_cast<std::size_t>(samples)) * 1e-12;
        operation_s_ = operation_s_ > 0.0 ? std::min(seen_s, 2.0 * operation_s_) : seen_s;
    }

    void choose_timing() {
        if (measured_.clock == ClockChoice::barrier) return;
        const double allowed_s = largest_clock_error * operation_s_;
        // From the second renewal on the clocks' rates are known, if only roughly.
        for (int trial = 0; trial < trials; ++trial) {
            together_.clock_error_s = 0.0;
            renew();
            if (together_.clock_error_s <= allowed_s) break;
        }
        if (together_.clock_error_s <= allowed_s || measured_.clock == ClockChoice::synchronised)
            together_.timing = Timing::synchronised;
    }

    void renew() {
        part_.tell({CollectiveRound::renewal, 0, 0, 0, 0, 0, 0, 0});
        together_.clock_error_s = std::max(together_.clock_error_s, part_.clock_error_s());
    }

    double tolerance_s() const {
        return std::max({together_.clock_error_s, operation_s_ * largest_clock_share,
                         4.0 * precision_.clock_overhead_s});
    }

    void measure() {
        StartWindow window(operation_s_, tolerance_s());
        while (result_.stop == Stop::none) {
            const double began_s = elapsed_s();
            const std::size_t kept = make_block(window, 0);
            double samples_s = 0.0;
            for (std::size_t i = 0; i < kept; ++i)
                samples_s += static_cast<double>(samples_ps_[i]) * 1e-12;
            if (kept > 0) result_.recorder.add_block(samples_ps_.data(), kept);
            result_.stop = stops_.after_block(result_.recorder, samples_s, elapsed_s(),
                                              elapsed_s() - began_s);
            anew_ = anew_ || stops_.began_anew();
            if (starts_in_vain(window)) fall_back();
        }
    }

    // Leaves the samples that count in samples_ps_; returns their number.
    std::size_t make_block(StartWindow& window, std::int64_t computing_ns) {
        const bool at_moments = together_.timing == Timing::synchronised;
        if (at_moments && common_.is_due()) renew();
        const double sample_s =
            at_moments ? static_cast<double>(window.length_ns()) * 1e-9 : operation_s_;
        const std::int64_t samples =
            stops_.clip(longest_block(window, at_moments, sample_s), computing_ns > 0);
        // The lead-in absorbs the disturbance of the announcement; long operations do not need it.
        const bool leads_in = operation_s_ < longest_lead_in_s && !precision_.check_data;
        const std::int64_t now_ns = common_.to_common(clock_.now_ns());
        part_.tell({at_moments ? CollectiveRound::at_moments : CollectiveRound::after_barrier,
                    samples, leads_in ? 1 : 0, now_ns, now_ns + window.lead_ns(),
                    window.length_ns(), window.tolerance_ns(), computing_ns, anew_ ? 1 : 0});
        anew_ = false;
        look_at_operation(samples);
        if (at_moments) learn(window, samples);
        return collect(samples);
    }

    std::int64_t longest_block(const StartWindow& window, bool at_moments, double sample_s) const {
        if (precision_.check_data) return 1;
        const std::int64_t usual = block_samples_for(sample_s, measured_.budget_s, measured_.message_bytes);
        return at_moments ? std::min(usual, window.most_samples()) : usual;
    }

    void learn(StartWindow& window, std::int64_t samples) {
        BlockStarts starts{samples, 0, 0, blocks_.lag_ns()};
        for (std::int64_t i = 0; i < samples; ++i) {
            starts.late += blocks_.start(i) != Start::in_time;
            starts.overrun += blocks_.start(i) == Start::overrun;
        }
        together_.late_starts += starts.late;
        window.learn(starts, operation_s_);
    }

    std::size_t collect(std::int64_t samples) {
        const bool at_moments = together_.timing == Timing::synchronised;
        std::size_t kept = 0;
        for (std::int64_t i = 0; i < samples; ++i) {
            if (at_moments && blocks_.start(i) != Start::in_time) continue;
            const std::int64_t took_ns =
                at_moments ? blocks_.common_ns(i) : blocks_.slowest_ns(i);
            // A clock that is off may see the end of a very short operation before its start.
            samples_ps_[kept++] = std::max<std::int64_t>(took_ns, 0) * 1000;
        }
        return kept;
    }

    bool starts_in_vain(const StartWindow& window) const {
        if (together_.timing != Timing::synchronised) return false;
        const bool nothing_yet =
            result_.recorder.samples() + result_.recorder.samples_waiting() == 0;
        return window.hopeless() || 
               (nothing_yet && (result_.stop != Stop::none ||
                                stops_.is_late(elapsed_s())));
    }

    // Samples of both kinds are never mixed: those at moments are dropped.
    void fall_back() {
        together_.timing = Timing::barrier;
        result_.recorder = Recorder(TogetherResult::longest_together_block);
        result_.stop = Stop::none;
        stops_ = new_stops();
    }

    CollectiveStops new_stops() {
        return {measured_, precision_, crowded_, [this] { return part_.ask_waits(); }};
    }

    // As much computing beside the operation as it takes by itself.
    void find_overlap() {
        std::vector<double> alone_ps = result_.recorder.blocks().medians_ps();
        const double alone_s = median_of(alone_ps.data(), alone_ps.size()) * 1e-12;
        const auto computing_ns = std::max<std::int64_t>(std::llround(alone_s * 1e9), 1);
        StartWindow window(2.0 * alone_s, tolerance_s());
        Overlap overlap(alone_s);
        const double until_s = stops_.until_with_computing_s(elapsed_s());
        do {
            const std::size_t kept = make_block(window, computing_ns);
            std::optional<double> total_ps;
            if (kept > 0) total_ps = median_of(samples_ps_.data(), kept);
            overlap.add(total_ps, blocks_.computing_ns());
        } while (elapsed_s() < until_s);
        together_.compute_s = overlap.computing_s();
        together_.overlap = overlap.share();
    }

    static constexpr std::int64_t probes = 5;
    static constexpr int trials = 3;

    CollectivePart<Transport, Clock>& part_;
    const CollectiveBlocks<Transport, Clock>& blocks_;
    const Clock& clock_;
    const SynchronisedClock<Transport, Clock>& common_;
    const Case& measured_;
    const Precision& precision_;
    bool crowded_;
    TogetherResult& result_;
    Together& together_;
    CollectiveStops stops_;
    std::vector<std::int64_t> samples_ps_;
    std::int64_t began_ns_ = 0;
    double operation_s_ = 0.0;
    bool anew_ = false;
};

}  // namespace fabricgauge
