// What a simulated cluster is to be: its platform file, what is wrong with it, and its noise. The
// text is written by src/fabricgauge/features/simulate/simulator.py; docs/development/simulated-platforms.md has it.
#pragma once

#include <cstdint>
#include <istream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fabricgauge::simulated {

// The ways of a node's links: from the node into the network, and back.
enum class Way { out, in };

struct RateFault {
    Way way;
    std::string node;
    double factor;
};

struct LatencyFault {
    Way way;
    std::string node;
    double added_s;
};

// The node's links have `factor` of their rate in the first `share` of each period, and all of it in
// the rest.
struct FlappingFault {
    std::string node;
    double factor;
    double period_s;
    double share;
};

// Of the links that lead out of a group in that way the one of that index, or all of them.
struct UplinkFault {
    static constexpr int all = -1;

    Way way;
    int index;
    double factor;
    std::vector<std::string> nodes;
};

struct PairFault {
    std::string source;
    std::string destination;
    double factor;
};

// Each message of the node takes up to some deviations longer; see stretching.hpp.
struct NoiseFault {
    std::string node;
    double deviation;
};

struct Planted {
    std::string platform;
    std::uint64_t seed = 0;
    double deviation = 0;
    double overhead_s = 0;  // of both ends' software, per message
    std::vector<RateFault> rates;
    std::vector<LatencyFault> latencies;
    std::vector<FlappingFault> flapping;
    std::vector<UplinkFault> uplinks;
    std::vector<PairFault> pairs;
    std::vector<NoiseFault> noisy;
};

// Says the line and what was expected, or which node or link is not there.
class PlantedError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

Planted read_planted(std::istream& input);

}  // namespace fabricgauge::simulated
