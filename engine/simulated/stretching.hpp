// By how much each message is slower than the platform has it: noise of the whole network, noise of
// single nodes, and pairs that get less than their share.
#pragma once

#include <simgrid/s4u.hpp>

#include <cstdint>
#include <unordered_map>

#include "planted.hpp"

namespace fabricgauge::simulated {

// A message's latency and its time on the links are multiplied by 1 + deviation |z|, where z is
// standard normal: noise never makes anything faster than its link. The variance of the network
// and of both nodes add up. z depends on the seed, the pair and the number of the message between
// the two, so that two runs of one seed differ by their faults alone.
class Stretching {
public:
    Stretching(const Planted& planted, const simgrid::s4u::Engine& engine);

    double latency_factor(const simgrid::s4u::Host* source, const simgrid::s4u::Host* destination);
    double rate_factor(const simgrid::s4u::Host* source, const simgrid::s4u::Host* destination);

private:
    using Pair = std::uint64_t;

    struct Sent {
        std::uint64_t latencies = 0;
        std::uint64_t rates = 0;
    };

    std::uint64_t number_of(const simgrid::s4u::Host* host) const;
    double deviation(std::uint64_t source, std::uint64_t destination) const;
    double stretch(Pair pair, std::uint64_t message) const;

    std::uint64_t seed_;
    std::unordered_map<const simgrid::s4u::Host*, std::uint64_t> numbers_;
    std::vector<double> variances_;
    double variance_;
    std::unordered_map<Pair, double> pairs_;
    std::unordered_map<Pair, Sent> sent_;
};

}  // namespace fabricgauge::simulated
