// Processor use of this process and of its node between two moments.
#pragma once

#include <cstdint>
#include <istream>
#include <vector>

#include "fabricgauge/json.hpp"

namespace fabricgauge {

// Ticks of one processor since boot; idle includes waiting for input and output.
struct ProcessorTicks {
    std::int64_t idle = 0;
    std::int64_t softirq = 0;
    std::int64_t steal = 0;
    std::int64_t total = 0;
};

struct ProcessorState {
    double user_s = 0.0;
    double system_s = 0.0;
    double run_delay_s = 0.0;
    std::vector<ProcessorTicks> processors;
};

struct ProcessorUse {
    double user_s;
    double system_s;
    double run_delay_s;
    double node_idle_share;
    double node_softirq_share;
    double node_steal_share;
    double busiest_softirq_share;
};

// The kernel counts node times in ticks of 10 ms: over a shorter time than this, shares mean
// nothing.
constexpr double shortest_for_shares_s = 0.03;

std::vector<ProcessorTicks> parse_proc_stat(std::istream& text);
ProcessorState read_processors();
// Shares are 0 to 1 of the ticks that passed; all are 0 if none did.
ProcessorUse use_between(const ProcessorState& before, const ProcessorState& after);

void write_processor_use(JsonWriter& json, int rank, const ProcessorUse& use);

}  // namespace fabricgauge
