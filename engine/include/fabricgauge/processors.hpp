// Processor use of this process and of its node between two moments.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <vector>

#include "fabricgauge/json.hpp"
#include "fabricgauge/seen.hpp"

namespace fabricgauge {

// Ticks of one processor since boot; idle includes waiting for input and output.
struct ProcessorTicks {
    std::int64_t idle = 0;
    std::int64_t softirq = 0;
    std::int64_t steal = 0;
    std::int64_t total = 0;
};

// The time that each thread of this process was ready to run but had no processor, in nanoseconds
// by thread number; 0 is the sum of ended threads that reported it.
using RunDelays = std::map<int, std::int64_t>;

// The counts of one control group: its quota in processors (0 without one), and the time that its
// tasks could not run because the quota was used up.
struct Throttle {
    double quota_processors = 0.0;
    std::int64_t throttled_ns = 0;
};

// By directory: the group of this process and those above it.
using Throttles = std::map<std::string, Throttle>;

struct ProcessorState {
    double user_s = 0.0;
    double system_s = 0.0;
    Seen<RunDelays> run_delays = Absent{"not read"};
    Seen<std::vector<ProcessorTicks>> processors = Absent{"not read"};
    Seen<Throttles> throttles = Absent{"not read"};
};

// Shares are 0 to 1 of the ticks that passed.
struct NodeShares {
    double idle;
    double softirq;
    double steal;
    double busiest_softirq;
};

// `run_delay_s` is the sum over all threads.
struct ProcessorUse {
    double user_s;
    double system_s;
    Seen<double> run_delay_s;
    Seen<NodeShares> node;
    Seen<Throttle> throttle = Absent{"not read"};
};

// The kernel counts node times in ticks of 10 ms: over a shorter time than this, shares mean
// nothing.
constexpr double shortest_for_shares_s = 0.03;

std::vector<ProcessorTicks> parse_proc_stat(std::istream& text);
// Read the threads below a directory like /proc/self/task.
Seen<RunDelays> read_run_delays(const std::string& threads);
// A thread that is about to end reports its waiting time, since its entry in /proc disappears with
// it.
void keep_run_delay_of_this_thread();
// `groups` is like /proc/self/cgroup, `mount` like /sys/fs/cgroup.
Seen<Throttles> read_throttles(const std::string& groups, const std::string& mount);
ProcessorState read_processors();
ProcessorUse use_between(const ProcessorState& before, const ProcessorState& after);

void write_processor_use(JsonWriter& json, int rank, const ProcessorUse& use);

}  // namespace fabricgauge
