// The origin's part of a case: it times, and decides how long to go on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fabricgauge/batching.hpp"
#include "fabricgauge/case_list.hpp"
#include "fabricgauge/data_pattern.hpp"
#include "fabricgauge/messages.hpp"
#include "fabricgauge/recorder.hpp"
#include "fabricgauge/stopping.hpp"
#include "fabricgauge/transport.hpp"
#include "fabricgauge/wait_gate.hpp"

namespace fabricgauge {

// The origin's result. payload_bytes is all that this rank sent, with control messages. `waiting`:
// see waits_made_median.
struct OriginResult {
    Recorder recorder{longest_block_samples};
    Stop stop = Stop::none;
    std::int64_t batch = 1;
    std::int64_t payload_bytes = 0;
    double wall_s = 0.0;
    bool waiting = false;
    std::int64_t compared = 0;
    Mismatch mismatch;
};

// Iterations longer than this are led in by an empty message: by then what the control message
// disturbed is less than 1 % of the sample, and an iteration more would be dear.
constexpr double longest_lead_in_s = 1e-3;
// The first iteration is thrown away unless samples are as long as this; then it counts as the
// first block, which may turn out to be warm-up like any other.
constexpr double shortest_first_sample_s = 1e-2;
// If frames are lost, one message in some tens waits 0.2 s: the first block then shows this to the
// budget.
constexpr std::int64_t longest_first_block = 16;
// Only between rounds can a block end early. Ranks that come to share a processor may need two of its
// time slices for each operation, some 30 ms: a round then still ends well within the grace.
constexpr std::int64_t longest_round_operations = 64;
// Samples of a block were disturbed if their mean is so many times that of the quickest ones.
constexpr double disturbed_factor = 32.0;

template <typename Transport, typename Clock, typename Running>
class OriginPart {
public:
    OriginPart(const Running& running, Messages& messages, const Clock& clock,
               const Case& measured, const Precision& precision)
        : running_(running), messages_(messages), clock_(clock), measured_(measured),
          precision_(precision), channels_(Running::threaded ? measured.threads : 1),
          stamps_(static_cast<std::size_t>(channels_ * stride)),
          interval_(precision.relative_half_width, precision.confidence),
          gate_(measured, precision, measured.budget_s), iterations_(precision.iterations) {}

    void run(OriginResult& result) {
        began_ns_ = clock_.now_ns();
        const double operation_s = find_batch(result);
        if (result.stop == Stop::none) measure(result, operation_s);
        result.recorder.settle();
        result.wall_s = elapsed_s();
        result.waiting = gate_.waiting();
        result.compared = messages_.compares() ? static_cast<std::int64_t>(checked_) : 0;
        end_target(result);
    }

private:
    double elapsed_s() const { return static_cast<double>(clock_.now_ns() - began_ns_) * 1e-9; }

    // Duration of one operation, from a first try and, where that was short, from a few more.
    double find_batch(OriginResult& result) {
        begin_waits(result);
        double operation_s = round(result, 1, 1, false, precision_.check_first);
        if (operation_s >= shortest_first_sample_s || 2.0 * operation_s > measured_.budget_s) {
            keep(result, 1, 1, precision_.check_first ? 1 : kept_channels());
            if (gate_.is_spent(elapsed_s(), operation_s) && budget_ends(result, operation_s))
                result.stop = Stop::budget;
            if (iterations_.reached(1)) result.stop = Stop::iterations;
            return operation_s;
        }
        result.recorder.discard(precision_.check_first ? 1 : kept_channels());
        if (!gate_.is_spent(elapsed_s(), probes * operation_s)) {
            round(result, probes, 1, true, precision_.check_data);
            result.recorder.discard(probes * kept_channels());
            operation_s = quickest_probe_s();
        }
        result.batch = batch_of(operation_s);
        return operation_s;
    }

    std::int64_t batch_of(double operation_s) const {
        return precision_.check_data ? 1 : batch_for(operation_s, precision_.clock_overhead_s);
    }

    std::int64_t block_of(double operation_s, std::int64_t batch) const {
        return block_samples_for(operation_s * static_cast<double>(batch), measured_.budget_s,
                                 measured_.message_bytes);
    }

    void measure(OriginResult& result, double operation_s) {
        Recorder& recorder = result.recorder;
        std::int64_t block = block_of(operation_s, result.batch);
        double sample_s = operation_s * static_cast<double>(result.batch);  // of the last block
        double measured_s = 0.0;
        bool disturbed = sample_s >= shortest_first_sample_s;
        begin_waits(result);
        while (result.stop == Stop::none) {
            const std::int64_t before = taken(result);
            // Waits between the rounds of a block would outnumber few samples.
            const std::int64_t length =
                gate_.waits_out()
                    ? std::max(block, Running::threaded ? longest_first_block : fewest_block_samples)
                    : std::max(disturbed ? fewest_if_disturbed(sample_s) : 1,
                               std::min({block, before == 0 ? longest_first_block : block,
                                         samples_within(measured_.budget_s / 16.0, sample_s)}));
            const std::int64_t planned = std::max<std::int64_t>(
                1, iterations_.clip(length * kept_channels(), before) / kept_channels());
            const auto [samples, round_s] =
                make_block(result, planned, sample_s < longest_lead_in_s,
                           gate_.waits_out() ? fewest_if_disturbed(sample_s)
                                             : longest_round_operations);
            keep(result, samples, result.batch, kept_channels());
            measured_s += round_s;
            sample_s = round_s / static_cast<double>(samples);
            // A rank that waited for a processor during the probes made all that follows from them.
            // Without time for another block the samples are kept: a case never ends with none.
            bool is_spent = gate_.is_spent(elapsed_s(), round_s);
            const bool undisturbed =
                gate_.waits_out() &&
                gate_.has_passed({ask_waits(result)}, samples, round_s, elapsed_s());
            if (gate_.waits_out()) leave_processor();
            const double quickest_s = quickest_operation_s(samples);
            disturbed = sample_s > disturbed_factor * std::min(quickest_s, operation_s) *
                                       static_cast<double>(result.batch);
            if (undisturbed || (!recorder.settled() && !is_spent && quickest_s < operation_s)) {
                operation_s = std::min(operation_s, quickest_s);
                const std::int64_t batch = batch_of(operation_s);
                const std::int64_t longer = block_of(operation_s, batch);
                if (undisturbed || batch >= 2 * result.batch || longer >= 2 * block) {
                    recorder.discard_all();
                    result.batch = batch;
                    block = longer;
                    measured_s = 0.0;
                    interval_ = {precision_.relative_half_width, precision_.confidence};
                    begin_waits(result);
                }
            }
            if (undisturbed) is_spent = false;
            // All further samples are kept, so that a case that never settles has samples.
            if (!undisturbed && elapsed_s() > measured_.budget_s / 2.0 &&
                recorder.blocks_waiting() >= Recorder::fewest_searched)
                recorder.settle();
            if (iterations_.reached(taken(result))) {
                result.stop = Stop::iterations;
            } else if (is_spent) {
                if (budget_ends(result, measured_s)) result.stop = Stop::budget;
            } else if (!iterations_.limits() && interval_.due(measured_s) &&
                       interval_.narrow(recorder.settled_medians_ps()) &&
                       interval_ends(result, measured_s)) {
                result.stop = Stop::interval;
            }
        }
        if (result.stop == Stop::iterations && gate_.reads())
            gate_.look({ask_waits(result)}, taken(result), measured_s);
    }

    // A rank that is not running answers the signal of a block late: in blocks of one short message
    // each sample is such a wait.
    std::int64_t fewest_if_disturbed(double sample_s) const {
        if (measured_.message_bytes > longest_of_fewest_bytes) return 1;
        return std::min(longest_first_block, samples_within(measured_.budget_s / 2.0, sample_s));
    }

    std::int64_t taken(const OriginResult& result) const {
        return result.recorder.samples() + result.recorder.samples_waiting();
    }

    void begin_waits(OriginResult& result) {
        if (gate_.reads()) gate_.begin({ask_waits(result)});
    }

    bool interval_ends(OriginResult& result, double measured_s) {
        return !gate_.reads() ||
               gate_.interval_ends({ask_waits(result)}, taken(result), measured_s);
    }

    bool budget_ends(OriginResult& result, double measured_s) {
        return !gate_.reads() || gate_.budget_ends({ask_waits(result)}, taken(result), measured_s,
                                                   elapsed_s());
    }

    // Waits of both ranks.
    Waits ask_waits(OriginResult& result) {
        result.payload_bytes += static_cast<std::int64_t>(sizeof(Round));
        return precision_.read_waits() + waits_of_target(running_.transport, running_.peer);
    }

    struct Made {
        std::int64_t samples;
        double together_s;
    };

    // As many samples as planned, or fewer if they take far longer than planned.
    Made make_block(OriginResult& result, std::int64_t planned, bool lead_in,
                    std::int64_t round_operations) {
        const std::int64_t longest =
            Running::threaded ? planned
                              : std::max<std::int64_t>(1, round_operations / result.batch);
        Made made{0, 0.0};
        do {
            const std::int64_t samples = std::min(planned - made.samples, longest);
            made.together_s += round(result, samples, result.batch, lead_in,
                                     precision_.check_data, made.samples);
            made.samples += samples;
        } while (made.samples < planned && made.together_s < measured_.budget_s / 16.0);
        return made;
    }

    // Leaves the readings in stamps_, behind those of `first` samples of the same block; returns
    // the time of its own samples together.
    double round(OriginResult& result, std::int64_t samples, std::int64_t batch, bool lead_in,
                 bool check, std::int64_t first = 0) {
        const Round message{samples, batch, lead_in && !check ? 1 : 0, check ? 1 : 0};
        running_.transport.send_control(&message, sizeof message, running_.peer);
        await_signal(running_.transport, running_.peer);
        if (message.lead_in != 0) running_.origin();
        if (check)
            checked_block(result, samples, first);
        else
            timed_block(samples, batch, first);
        const std::int64_t operations = samples * batch + message.lead_in;
        if constexpr (Running::origin_sends)
            result.payload_bytes += operations * payload_of_operation_bytes(measured_);
        result.payload_bytes += static_cast<std::int64_t>(sizeof message);
        std::int64_t total_ns = 0;
        for (std::int64_t i = first; i < first + samples; ++i) total_ns += duration_ns(i);
        return static_cast<double>(total_ns) * 1e-9;
    }

    void timed_block(std::int64_t samples, std::int64_t batch, std::int64_t first) {
        const Running running = running_;  // in registers, not in memory that a call might change
        std::int64_t* const stamps = stamps_.data() + first;
        if constexpr (Running::threaded) {
            running.time(clock_, stamps, stride, samples, batch);
        } else {
            const std::int64_t before_ns = stamps[0];
            stamps[0] = clock_.now_ns();
            for (std::int64_t i = 1; i <= samples; ++i) {
                for (std::int64_t repeat = 0; repeat < batch; ++repeat) running.origin();
                stamps[i] = clock_.now_ns();
            }
            // The time between two rounds is no sample's.
            if (first > 0)
                for (std::int64_t i = samples; i >= 0; --i) stamps[i] -= stamps[0] - before_ns;
        }
    }

    // Samples stand apart here, so each duration is put where timed_block's differences would be.
    void checked_block(OriginResult& result, std::int64_t samples, std::int64_t first) {
        if (first == 0) stamps_[0] = 0;
        for (std::int64_t i = first; i < first + samples; ++i, ++checked_) {
            messages_.fill(Author::origin, checked_);
            running_.expose();
            await_signal(running_.transport, running_.peer);
            const std::int64_t begin = clock_.now_ns();
            running_.origin();
            stamps_[i + 1] = stamps_[i] + (clock_.now_ns() - begin);
            // Before the signal: the target's next message may come to the same memory.
            if constexpr (Running::target_sends)
                messages_.verify(Running::reply_author, checked_, running_.transport.rank(),
                                 result.mismatch);
            signal(running_.transport, running_.peer);
        }
    }

    std::int64_t duration_ns(std::int64_t sample) const {
        return stamps_[sample + 1] - stamps_[sample];
    }

    double quickest_probe_s() const {
        std::int64_t quickest_ns = duration_ns(0);
        for (std::int64_t i = 1; i < probes; ++i)
            quickest_ns = std::min(quickest_ns, duration_ns(i));
        return static_cast<double>(quickest_ns) * 1e-9;
    }

    // After keep, by which stamps_ holds samples.
    double quickest_operation_s(std::int64_t samples) const {
        return undisturbed_s({stamps_.begin(), stamps_.begin() + samples}) *
               static_cast<double>(Running::one_way_trips);
    }

    // Turns the readings into samples in place: picoseconds, one message's way.
    void keep(OriginResult& result, std::int64_t samples, std::int64_t batch,
              std::int64_t channels) {
        const std::int64_t share = batch * Running::one_way_trips;
        for (std::int64_t channel = 0; channel < channels; ++channel) {
            std::int64_t* const own = stamps_.data() + channel * stride;
            for (std::int64_t i = 0; i < samples; ++i)
                own[i] = ((own[i + 1] - own[i]) * 1000 + share / 2) / share;
            result.recorder.add_block(own, static_cast<std::size_t>(samples));
        }
    }

    // The number of threads whose readings become samples: with a check all threads are one sample.
    std::int64_t kept_channels() const {
        if constexpr (Running::threaded)
            return Running::each && !precision_.check_data ? channels_ : 1;
        else
            return 1;
    }

    void end_target(OriginResult& result) {
        const Round end{0, 0, 0};
        running_.transport.send_control(&end, sizeof end, running_.peer);
        result.payload_bytes += static_cast<std::int64_t>(sizeof end);
        Mismatch at_target;
        running_.transport.receive_control(&at_target, sizeof at_target, running_.peer);
        if (at_target.found != 0 &&
            (result.mismatch.found == 0 || at_target.sample <= result.mismatch.sample))
            result.mismatch = at_target;
    }

    static constexpr std::int64_t probes = 5;
    static constexpr std::int64_t stride = longest_block_samples + 1;

    const Running& running_;
    Messages& messages_;
    const Clock& clock_;
    const Case& measured_;
    const Precision& precision_;
    std::int64_t channels_;
    std::vector<std::int64_t> stamps_;  // the readings of each thread, `stride` apart
    IntervalRule interval_;
    WaitGate gate_;
    IterationsRule iterations_;
    std::uint64_t checked_ = 0;
    std::int64_t began_ns_ = 0;
};

}  // namespace fabricgauge
