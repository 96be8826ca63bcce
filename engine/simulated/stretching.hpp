// By how much each message is slower than the platform has it: what the ends' software costs, noise
// of the whole network, noise of single nodes, links that flap, and pairs that get less than their share.
#pragma once

#include <simgrid/s4u.hpp>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "planted.hpp"

namespace fabricgauge::simulated {

// A message's latency, overhead included, and its time on the links are multiplied by 1 + deviation |z|, where z is
// standard normal: noise never makes anything faster than its link. The variance of the network
// and of both nodes add up. z depends on the seed, the pair and the number of the message between
// the two, so that two runs of one seed differ by their faults alone.
class Stretching {
public:
    Stretching(const Planted& planted, const simgrid::s4u::Engine& engine);

    // `links` are those of the route, whose latencies the factor is to multiply.
    double latency_factor(const simgrid::s4u::Host* source, const simgrid::s4u::Host* destination,
                          const std::vector<simgrid::s4u::Link*>& links);
    double rate_factor(const simgrid::s4u::Host* source, const simgrid::s4u::Host* destination,
                       double bytes, const std::vector<simgrid::s4u::Link*>& links);

private:
    using Pair = std::uint64_t;

    struct Sent {
        std::uint64_t latencies = 0;
        std::uint64_t rates = 0;
    };

    std::uint64_t number_of(const simgrid::s4u::Host* host) const;
    double deviation(std::uint64_t source, std::uint64_t destination) const;
    double stretch(Pair pair, std::uint64_t message) const;
    double flapping(Pair pair, double bytes, const std::vector<simgrid::s4u::Link*>& links) const;

    std::uint64_t seed_;
    std::unordered_map<const simgrid::s4u::Host*, std::uint64_t> numbers_;
    std::vector<double> variances_;
    double variance_;
    double overhead_s_;
    std::unordered_map<Pair, double> pairs_;
    std::unordered_map<std::uint64_t, FlappingFault> flapping_;
    std::unordered_map<Pair, Sent> sent_;
};

}  // namespace fabricgauge::simulated
