// Every pair of ranks, in the rounds of round_robin_rounds.hpp.
//
// After its latency, a pair compares its two ways on the clock that all ranks share.
//
// The pairs of a round measure at once, or `concurrent` of them, while the others sleep.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/feasibility.hpp"
#include "fabricgauge/measuring.hpp"
#include "fabricgauge/one_way.hpp"
#include "fabricgauge/records.hpp"
#include "fabricgauge/synchronised_clock.hpp"
#include "fabricgauge/together.hpp"
#include "fabricgauge/round_robin_rounds.hpp"

namespace fabricgauge {

// The rounds that a case asks for.
std::vector<int> rounds_to_make(const Case& measured, int ranks);

PairTime pair_time(int origin, int target, const Recorder& recorder);
std::string pack(const std::vector<PairTime>& times);
std::vector<PairTime> unpack_pair_times(const std::string& text);

// `Progress` gets the record of each round, at rank 0, and a call before each step that may hang.
template <typename Transport, typename Clock, typename Progress>
class RoundRobin {
public:
    RoundRobin(Transport& transport, const Clock& clock,
               SynchronisedClock<Transport, Clock>& common, const Case& measured,
               const Precision& precision, const Communicator& communicator,
               Progress& progress)
        : transport_(transport), clock_(clock), common_(common), measured_(pair_case(measured)),
          whole_(measured), precision_(precision), communicator_(communicator), progress_(progress),
          messages_(measured_, precision.check_data, nullptr),
          one_way_(transport, clock, common, messages_.slots(), measured.message_bytes) {
        precision_.extension_s = 0.0;  // the other pairs of a round wait for this one
    }

    void run(TogetherResult& result) {
        const std::int64_t began_ns = clock_.now_ns();
        common_.begin(communicator_);
        if (tells_directions()) set_clock(true);
        for (const int round : rounds_to_make(whole_, communicator_.members)) make(round, result);
        result.wall_s = seconds_since(began_ns);
        result.together.ranks = communicator_.members;
        result.together.pairs = communicator_.members / 2;
        if (clock_error_s_) result.together.clock_error_s = *clock_error_s_;
    }

private:
    static Case pair_case(Case measured) {
        const bool streams = measured.pattern == Pattern::all_pairs_bandwidth;
        measured.pattern = streams ? Pattern::bandwidth : Pattern::latency;
        return measured;
    }

    double seconds_since(std::int64_t began_ns) const {
        return static_cast<double>(clock_.now_ns() - began_ns) * 1e-9;
    }

    // Bandwidth is measured in each direction anyway.
    bool tells_directions() const { return measured_.pattern == Pattern::latency; }

    // Collective. The second renewal knows the clocks' rates, if only roughly. A clock is checked
    // before it is renewed, so that its drift is known.
    void set_clock(bool anew) {
        if (anew) common_.renew();
        const double error_s = common_.disagreement_s();
        common_.renew();
        clock_error_s_ = anew ? error_s : std::max(*clock_error_s_, error_s);
    }

    void keep_clock() {
        if constexpr (!IsShared<Clock>::value) {
            std::int64_t due = common_.is_due();
            transport_.broadcast_in_communicator(&due, sizeof due);
            if (due != 0) set_clock(false);
        }
    }

    void make(int round, TogetherResult& result) {
        const std::int64_t began_ns = clock_.now_ns();
        const auto pairs = pairs_in_round(round, communicator_.members);
        const int together =
            whole_.concurrent > 0 ? whole_.concurrent : static_cast<int>(pairs.size());
        std::vector<PairTime> own;
        for (std::size_t first = 0; first < pairs.size(); first += together) {
            progress_.step(whole_);
            const std::size_t end =
                std::min(pairs.size(), first + static_cast<std::size_t>(together));
            for (std::size_t i = first; i < end; ++i) meet(pairs[i], own, result);
            transport_.quiet_barrier();
        }
        if (tells_directions()) keep_clock();
        std::vector<PairTime> all;
        for (const std::string& packed : transport_.gather_in_communicator(pack(own)))
            for (const PairTime& time : unpack_pair_times(packed)) all.push_back(time);
        progress_.round_made(whole_, round, rounds_of_round_robin(communicator_.members),
                             seconds_since(began_ns), all, clock_error_s_);
    }

    void meet(std::pair<int, int> pair, std::vector<PairTime>& own, TogetherResult& result) {
        if (communicator_.rank != pair.first && communicator_.rank != pair.second) return;
        measure(pair.first, pair.second, own, result);
        if (measured_.pattern == Pattern::bandwidth)
            measure(pair.second, pair.first, own, result);
    }

    void measure(int origin, int target, std::vector<PairTime>& own, TogetherResult& result) {
        measured_.origin = origin;
        measured_.target = target;
        const bool abroad = !communicator_.same_node(communicator_.rank == origin ? target : origin);
        if (communicator_.rank == target) {
            const TargetResult done = measure_as_target(transport_, messages_, measured_);
            if (abroad) result.payload_bytes += done.payload_bytes;
            if (tells_directions()) one_way_.as_target(origin);
            if (abroad) result.payload_bytes += one_way_.take_sent_bytes();
            return;
        }
        const OriginResult done =
            measure_as_origin(transport_, clock_, messages_, measured_, precision_);
        if (abroad) result.payload_bytes += done.payload_bytes;
        result.compared += done.compared;
        if (result.mismatch.found == 0) result.mismatch = done.mismatch;
        own.push_back(pair_time(origin, target, done.recorder));
        if (tells_directions()) own.back().one_way_ps = one_way_ps(done, target);
        if (abroad) result.payload_bytes += one_way_.take_sent_bytes();
    }

    // As many exchanges as the time allows; the round trips' time includes waits for lost frames.
    std::int64_t one_way_ps(const OriginResult& done, int target) {
        const std::int64_t trips = std::max<std::int64_t>(1, done.recorder.samples() * done.batch);
        const double half_round_trip_s = done.wall_s / 2.0 / static_cast<double>(trips);
        return one_way_.as_origin(
            target, one_way_exchanges(half_round_trip_s, whole_.budget_s, precision_.iterations));
    }

    Transport& transport_;
    const Clock& clock_;
    SynchronisedClock<Transport, Clock>& common_;
    Case measured_;  // that of the pair at hand
    const Case& whole_;
    Precision precision_;
    const Communicator& communicator_;
    Progress& progress_;
    Messages messages_;
    OneWay<Transport, Clock> one_way_;
    std::optional<double> clock_error_s_;
};

}  // namespace fabricgauge
