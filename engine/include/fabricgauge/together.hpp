// The parts of a case of many ranks, and their additions to its record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/data_pattern.hpp"
#include "fabricgauge/json.hpp"
#include "fabricgauge/recorder.hpp"
#include "fabricgauge/stopping.hpp"

namespace fabricgauge {

// The ranks that take part in a case, as each of them sees it: ranks 0 … members-1 of the launch.
// nodes[rank] is equal for ranks that share a node.
struct Communicator {
    int rank;
    int members;
    std::vector<int> nodes;
    // Some machine has fewer processors than members; known to rank 0.
    bool crowded = false;

    bool same_node(int other) const {
        return nodes[static_cast<std::size_t>(rank)] == nodes[static_cast<std::size_t>(other)];
    }
};

// The source of an iteration's time: see docs/development/engine-output.md.
enum class Timing { synchronised, barrier, origin };

const char* name_of(Timing timing) noexcept;

struct Together {
    int ranks = 0;
    int pairs = 0;
    Timing timing = Timing::origin;
    double clock_error_s = 0.0;
    std::int64_t late_starts = 0;
    std::vector<double> rank_medians_s;
    std::optional<double> overlap;
    double compute_s = 0.0;
    double messages_per_s = 0.0;
    double load_bytes_per_s = 0.0;
};

void write_together(JsonWriter& json, const Together& together);

// A rank's result. Rank 0 has the case's samples and figures, every rank the payload that it sent
// to ranks of other nodes.
struct TogetherResult {
    Recorder recorder{longest_together_block};
    Stop stop = Stop::none;
    std::int64_t batch = 1;
    double wall_s = 0.0;
    bool waiting = false;  // see waits_made_median
    Mismatch mismatch;
    std::int64_t compared = 0;
    std::int64_t payload_bytes = 0;
    Together together;

    static constexpr std::size_t longest_together_block = 4096;
};

}  // namespace fabricgauge
