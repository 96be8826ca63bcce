// The records of a launch, as JSON text without the end of line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/clock.hpp"
#include "fabricgauge/data_pattern.hpp"
#include "fabricgauge/device_memory.hpp"
#include "fabricgauge/recorder.hpp"
#include "fabricgauge/stopping.hpp"

namespace fabricgauge {

struct MpiVersion {
    std::string library;   // the library's own text, first line
    std::string standard;  // like 4.1
};

// The clock of the samples, with a flag for simulated time.
struct ClockDescription {
    const char* name;
    ClockQuality quality;
    bool simulated;
};

// Libraries are those that rank 0 has loaded once MPI has started. `transport` is what carries the data
// where that is not MPI, as JSON. `memory` is named where an end is not in host memory.
std::string header_record(const MpiVersion& mpi, int ranks, const ClockDescription& clock,
                          const std::vector<std::string>& libraries,
                          const std::string& transport = "", const MemoryOptions& memory = {});
// The memory of a rank's end of a pair, for its record; `device` is null in host memory.
std::string memory_of_rank(int rank, MemoryKind kind, const DeviceMemory* device);
std::string footer_record(std::size_t cases, double wall_s);

// The outcome of a case. `reason` is empty for "ok".
struct Outcome {
    const char* status;
    std::string reason;
};

// The measured values, as members of the case's record. `recorder` may be empty.
struct Measured {
    const Recorder& recorder;
    Stop stop;
    std::int64_t batch;
    double wall_s;
    double confidence;
    bool check_requested;
    Mismatch mismatch;
    std::int64_t compared = 0;  // samples whose data were
    bool waiting = false;       // see waits_made_median
};

std::string measured_members(const Measured& measured);
// For a case that was not measured to its end.
std::string unmeasured_members(bool check_requested);

// The values that each rank adds to the record of a case; JSON values except payload_sent_bytes.
// Members are empty if the rank has no value.
struct RankReport {
    std::int64_t payload_sent_bytes = 0;
    std::string counters;
    std::string sockets;
    std::string processors;
    std::string measured;
    std::string together;
    std::string connection;
    std::string memory = {};
};

// One text that can be sent between ranks, and back.
std::string pack(const RankReport& report);
RankReport unpack(const std::string& text);

// One pair of ranks in a round robin's round, one direction of it; picoseconds.
struct PairTime {
    int origin;
    int target;
    std::int64_t samples;
    std::int64_t minimum_ps;
    std::int64_t median_ps;
    std::int64_t quartile_ps;  // from the first to the third quartile
    std::int64_t one_way_ps = 0;  // the way to the target minus the way back, halved
};

// `clock_error_s` where the pairs have one-way times, see synchronised_clock.hpp.
std::string round_record(const Case& measured, int round, int rounds, double wall_s,
                         const std::vector<PairTime>& times,
                         const std::optional<double>& clock_error_s = std::nullopt);

std::string case_record(const Case& measured, const Outcome& outcome, const std::string& members,
                        const std::vector<RankReport>& reports);

}  // namespace fabricgauge
