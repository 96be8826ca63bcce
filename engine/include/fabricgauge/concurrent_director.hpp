// The decisions of rank 0 for all measuring ranks: the length of each round, and the end.
//
// In a round every measuring rank takes the same number of samples, whatever they last there, so
// that a slow pair has its full share in the percentiles. Blocks of all ranks' samples of the same
// moment then go into one recorder.
#pragma once

#include <cstdint>
#include <vector>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/origin_part.hpp"
#include "fabricgauge/recorder.hpp"
#include "fabricgauge/stopping.hpp"
#include "fabricgauge/wait_gate.hpp"

namespace fabricgauge {

// The work of each rank in a round, in a form that can be sent unchanged. No samples: the case
// ends; below 0 the ranks report how long they waited for a processor, as in Round.
struct ConcurrentRound {
    std::int64_t samples;
    std::int64_t batch;
    std::int64_t lead_in;      // operations before the samples
    std::int64_t block;        // samples of each rank that make a block
    std::int64_t further;      // operations at a time, until every rank has taken its samples
    std::int64_t last_counts;  // true if the previous round's samples count
    std::int64_t anew = 0;     // true if all samples so far are dropped, waits made them
};

class ConcurrentDirector {
public:
    // Samples are shares of an operation: half of it where `trips` is 2. A longer batch than
    // `longest_batch` is never asked for. `crowded` and `deciding`: see WaitGate.
    ConcurrentDirector(const Case& measured, const Precision& precision, int ranks,
                       std::int64_t trips, std::int64_t longest_batch, bool crowded = false,
                       Deciding deciding = Deciding::half_of_groups);

    ConcurrentRound next() const;
    // `samples_ps`: the samples of the first rank in order of time, then those of the next.
    // `elapsed_s` is the time since the case began, `round_s` the time of the round.
    void take(const ConcurrentRound& round, const std::int64_t* samples_ps, double elapsed_s,
              double round_s);
    // The answers to a round that asks for waits.
    void take_waits(const GroupWaits& now);

    // Samples of each rank that a round has at most.
    std::int64_t longest_round() const noexcept;

    Recorder& recorder() noexcept { return recorder_; }
    Stop stop() const noexcept { return stop_; }
    // Waits for a processor made the median.
    bool waiting() const noexcept { return gate_.waiting(); }
    std::int64_t batch() const noexcept { return batch_; }

private:
    enum class Phase { first, probes, measuring };

    void take_first(const std::int64_t* samples_ps, double elapsed_s, double round_s);
    void take_probes(const std::int64_t* samples_ps);
    void take_blocks(const ConcurrentRound& round, const std::int64_t* samples_ps, double elapsed_s,
                     double round_s);
    void add_block(const ConcurrentRound& round, const std::int64_t* samples_ps, std::int64_t first,
                   std::int64_t count);
    void end_at(Stop stop, const ConcurrentRound& round, double elapsed_s, double round_s);
    void begin_anew();
    void look_at_operations(const ConcurrentRound& round, const std::int64_t* samples_ps);
    void adapt(const ConcurrentRound& round, double round_s);
    void choose(double slowest_s, double typical_s);
    std::int64_t taken() const noexcept;

    const Case& measured_;
    const Precision& precision_;
    std::int64_t ranks_;
    double operation_per_ps_;
    std::int64_t longest_batch_;
    Recorder recorder_;
    IntervalRule interval_;
    WaitGate gate_;
    IterationsRule iterations_;
    std::vector<std::int64_t> together_;
    Phase phase_ = Phase::first;
    Stop stop_ = Stop::none;
    std::int64_t batch_ = 1;
    std::int64_t block_ = 1;
    std::int64_t blocks_ = 1;
    double slowest_s_ = 0.0;  // operation
    double measured_s_ = 0.0;
    bool last_counts_ = false;
    bool anew_ = false;
    // While the next round asks for waits: what the last one led to.
    bool asks_;
    bool begun_ = false;
    Stop wanted_ = Stop::none;
    std::int64_t round_samples_ = 0;
    double round_s_ = 0.0;
    double elapsed_s_ = 0.0;
    double rounds_s_ = 0.0;                 // all rounds since the beginning
    std::vector<double> operations_s_ = {};  // undisturbed, of each rank in the last round
};

// A round has at most this many blocks. A block has at most this many samples over all ranks, but
// at least one of each.
constexpr std::int64_t most_blocks_of_round = 32;
constexpr std::int64_t most_samples_of_block = 4096;

}  // namespace fabricgauge
