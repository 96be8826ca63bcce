// Every pair of ranks, in rounds of disjoint pairs.
//
// The circle method: of n ranks (an imaginary one is added to an odd number) the last stays, the
// others meet whoever makes the sum of both numbers that of the round, modulo n - 1. So each round
// has every rank once, and each pair has one round; see e.g. de Werra, Discrete Applied
// Mathematics 2 (1980). src/fabricgauge/plan/tournament.py has the same formula.
//
// The pairs of a round measure at once, or `concurrent` of them, while the others sleep.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/feasibility.hpp"
#include "fabricgauge/measuring.hpp"
#include "fabricgauge/records.hpp"
#include "fabricgauge/together.hpp"

namespace fabricgauge {

// Number of rounds in which n ranks all meet.
int rounds_of_tournament(int ranks) noexcept;
// Whom a rank meets in a round, -1 if nobody.
int partner_in_round(int rank, int round, int ranks) noexcept;
// The pairs of a round, lower rank first, ascending.
std::vector<std::pair<int, int>> pairs_in_round(int round, int ranks);
// The rounds that a case asks for.
std::vector<int> rounds_to_make(const Case& measured, int ranks);

PairTime pair_time(int origin, int target, const Recorder& recorder);
std::string pack(const std::vector<PairTime>& times);
std::vector<PairTime> unpack_pair_times(const std::string& text);

// `Progress` is told of each round by its record, at rank 0, and before each step that may hang.
template <typename Transport, typename Clock, typename Progress>
class Tournament {
public:
    Tournament(Transport& transport, const Clock& clock, const Case& measured,
               const Precision& precision, PingPongBuffers buffers, const Company& company,
               Progress& progress)
        : transport_(transport), clock_(clock), measured_(pair_case(measured)),
          whole_(measured), precision_(precision), company_(company), progress_(progress),
          messages_(measured_, precision.check_data, nullptr, buffers) {}

    void run(TogetherResult& result) {
        const std::int64_t began_ns = clock_.now_ns();
        for (const int round : rounds_to_make(whole_, company_.members)) make(round, result);
        result.wall_s = seconds_since(began_ns);
        result.together.ranks = company_.members;
        result.together.pairs = company_.members / 2;
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

    void make(int round, TogetherResult& result) {
        const std::int64_t began_ns = clock_.now_ns();
        const auto pairs = pairs_in_round(round, company_.members);
        const int together = whole_.concurrent > 0 ? whole_.concurrent : static_cast<int>(pairs.size());
        std::vector<PairTime> own;
        for (std::size_t first = 0; first < pairs.size(); first += together) {
            progress_.step(whole_);
            const std::size_t end = std::min(pairs.size(), first + static_cast<std::size_t>(together));
            for (std::size_t i = first; i < end; ++i) meet(pairs[i], own, result);
            transport_.quiet_barrier();
        }
        std::vector<PairTime> all;
        for (const std::string& packed : transport_.gather_in_company(pack(own)))
            for (const PairTime& time : unpack_pair_times(packed)) all.push_back(time);
        progress_.round_made(whole_, round, rounds_of_tournament(company_.members),
                             seconds_since(began_ns), all);
    }

    void meet(std::pair<int, int> pair, std::vector<PairTime>& own, TogetherResult& result) {
        if (company_.rank != pair.first && company_.rank != pair.second) return;
        measure(pair.first, pair.second, own, result);
        if (measured_.pattern == Pattern::bandwidth)
            measure(pair.second, pair.first, own, result);
    }

    void measure(int origin, int target, std::vector<PairTime>& own, TogetherResult& result) {
        measured_.origin = origin;
        measured_.target = target;
        const bool abroad = !company_.same_node(company_.rank == origin ? target : origin);
        if (company_.rank == target) {
            const TargetResult done =
                measure_as_target(transport_, messages_, measured_, precision_.check_data);
            if (abroad) result.payload_bytes += done.payload_bytes;
            return;
        }
        const OriginResult done =
            measure_as_origin(transport_, clock_, messages_, measured_, precision_);
        if (abroad) result.payload_bytes += done.payload_bytes;
        if (result.mismatch.found == 0) result.mismatch = done.mismatch;
        own.push_back(pair_time(origin, target, done.recorder));
    }

    Transport& transport_;
    const Clock& clock_;
    Case measured_;  // that of the pair at hand
    const Case& whole_;
    const Precision& precision_;
    const Company& company_;
    Progress& progress_;
    Messages messages_;
};

}  // namespace fabricgauge
