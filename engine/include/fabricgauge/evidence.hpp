// The values that a rank reads from the kernel around a case: interface counters, connections,
// processors.
#pragma once

#include <functional>
#include <string>

#include "fabricgauge/counters.hpp"
#include "fabricgauge/processors.hpp"
#include "fabricgauge/records.hpp"
#include "fabricgauge/sockets.hpp"

namespace fabricgauge {

class Evidence {
public:
    // Only one rank of a node reads the interfaces' counters.
    Evidence(int rank, std::string host, bool reads_counters);

    // To be called before the first message of a case.
    void before();
    // Call this after the last sample; it fills the report's parts. It waits until enough ticks
    // have passed. It reports the connections that `needed` selects.
    void after(RankReport& report, const std::function<Sockets(Sockets)>& needed);

private:
    std::string counters_json(const NodeCounters& now) const;
    void write_absent_counters(JsonWriter& json, const NodeCounters& now) const;

    int rank_;
    std::string host_;
    bool reads_counters_;
    NodeCounters counters_;
    Seen<Sockets> sockets_ = Sockets{};
    ProcessorState processors_;
    std::int64_t began_ns_ = 0;
};

}  // namespace fabricgauge
