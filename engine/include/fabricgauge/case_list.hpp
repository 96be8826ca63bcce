// The cases of a launch, one per line: CASE pattern=latency bytes=8 window=1 origin=0 target=1
// budget_s=0.5
#pragma once

#include <cstdint>
#include <istream>
#include <stdexcept>
#include <string>
#include <vector>

#include "fabricgauge/pattern.hpp"

namespace fabricgauge {

// The load that ranks make while others measure.
enum class Load { none, all_to_all, incast, permutation };
// The completion of one-sided operations.
enum class Epoch { flush, fence, pscw };

// The start and timing of a collective's iterations; `best` is the best that proves possible.
enum class ClockChoice { best, synchronised, barrier };

// The buffers of a case's messages at each end. Fewest, as few as MPI allows: a ping-pong sends from
// the buffer that it receives into, as NetPIPE does; a window has one buffer to send from and one for
// each pending receive. The others are osu_bw's: single has one buffer to send from and one to receive
// into, which all pending receives share although MPI does not allow that; multiple has one of each
// for every message of the window, each on pages of its own.
enum class Buffers { fewest, single, multiple };

const char* name_of(Load load) noexcept;
const char* name_of(Epoch epoch) noexcept;
const char* name_of(ClockChoice clock) noexcept;
const char* name_of(Buffers buffers) noexcept;

// The keys of the members after budget_s are optional. In a case of many ranks the first `ranks`
// take part; `pairs` of them measure, and `concurrent` pairs of a round robin's round measure at
// once. 0 means all, and no rounds means all rounds.
struct Case {
    std::string name;
    Pattern pattern;
    std::int64_t message_bytes;
    std::int64_t window;
    int origin;
    int target;
    double budget_s;
    int ranks = 0;
    int pairs = 0;
    int concurrent = 0;
    std::vector<int> rounds = {};
    Load load = Load::none;
    Epoch epoch = Epoch::flush;
    int threads = 1;
    ClockChoice clock = ClockChoice::best;
    Buffers buffers = Buffers::fewest;
    // Not asked for: connections of the launch lost frames, so that the budget was cut.
    bool losing = false;

    // Per sample and direction.
    std::int64_t sample_payload_bytes() const noexcept {
        const std::int64_t streams = pattern == Pattern::threads_bandwidth ? threads : 1;
        return message_bytes * (has_window(pattern) ? window : 1) * streams;
    }
};

// The error has the line number and the expected text.
class CaseListError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

std::vector<Case> parse_case_list(const std::string& text);

// The text up to the end of the stream or to a line `end`: some launchers pass lines on, but not
// the end of the input (Open MPI 5.0.11's prterun).
std::string read_case_list(std::istream& input);

}  // namespace fabricgauge
