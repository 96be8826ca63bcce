#include "stretching.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "flapping.hpp"

namespace fabricgauge::simulated {

namespace {

namespace s4u = simgrid::s4u;

// SplitMix64's output function: Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014, figure 16.
std::uint64_t mixed(std::uint64_t z) noexcept {
    z += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

// In (0, 1]: the logarithm below has no zero to take.
double uniform(std::uint64_t bits) noexcept {
    return static_cast<double>((bits >> 11) + 1) * 0x1p-53;
}

// |z| of a standard normal z, by the transform of Box and Muller (Annals of Mathematical
// Statistics 29, 1958).
double half_normal(std::uint64_t bits) noexcept {
    constexpr double two_pi = 6.283185307179586;
    const double radius = std::sqrt(-2 * std::log(uniform(mixed(bits))));
    return radius * std::abs(std::cos(two_pi * uniform(mixed(bits ^ 0x5bf0363546ac3b1dULL))));
}

constexpr std::uint64_t pair_of(std::uint64_t source, std::uint64_t destination) noexcept {
    return source << 32 | destination;
}

std::vector<const s4u::Host*> hosts_by_name(const s4u::Engine& engine) {
    const std::vector<s4u::Host*> all = engine.get_all_hosts();
    std::vector<const s4u::Host*> hosts(all.begin(), all.end());
    std::sort(hosts.begin(), hosts.end(), [](const s4u::Host* one, const s4u::Host* other) {
        return one->get_name() < other->get_name();
    });
    return hosts;
}

}  // namespace

Stretching::Stretching(const Planted& planted, const s4u::Engine& engine)
    : seed_(mixed(planted.seed)), variance_(planted.deviation * planted.deviation),
      overhead_s_(planted.overhead_s) {
    std::unordered_map<std::string, std::uint64_t> named;
    for (const s4u::Host* const host : hosts_by_name(engine)) {
        named.emplace(host->get_name(), numbers_.size());
        numbers_.emplace(host, numbers_.size());
    }
    const auto number = [&named](const std::string& node) {
        const auto found = named.find(node);
        if (found == named.end()) throw PlantedError("the platform has no host " + node);
        return found->second;
    };
    variances_.resize(named.size(), 0);
    for (const NoiseFault& fault : planted.noisy)
        variances_[number(fault.node)] += fault.deviation * fault.deviation;
    for (const FlappingFault& fault : planted.flapping) flapping_.emplace(number(fault.node), fault);
    for (const PairFault& fault : planted.pairs)
        pairs_[pair_of(number(fault.source), number(fault.destination))] = fault.factor;
}

std::uint64_t Stretching::number_of(const s4u::Host* host) const { return numbers_.at(host); }

double Stretching::deviation(std::uint64_t source, std::uint64_t destination) const {
    return std::sqrt(variance_ + variances_[source] + variances_[destination]);
}

double Stretching::stretch(Pair pair, std::uint64_t message) const {
    const double spread = deviation(pair >> 32, pair & 0xffffffffU);
    return spread > 0 ? 1 + spread * half_normal(mixed(seed_ ^ mixed(pair)) + message) : 1;
}

double Stretching::latency_factor(const s4u::Host* source, const s4u::Host* destination,
                                  const std::vector<s4u::Link*>& links) {
    double latency_s = 0;
    for (const s4u::Link* const link : links) latency_s += link->get_latency();
    const double with_ends = latency_s > 0 ? 1 + overhead_s_ / latency_s : 1;
    if (source == destination) return with_ends;
    const Pair pair = pair_of(number_of(source), number_of(destination));
    return with_ends * stretch(pair, 2 * sent_[pair].latencies++);
}

double Stretching::flapping(Pair pair, double bytes, const std::vector<s4u::Link*>& links) const {
    double share = 1;
    for (const std::uint64_t node : {pair >> 32, pair & 0xffffffffU}) {
        const auto found = flapping_.find(node);
        if (found == flapping_.end()) continue;
        double rate = std::numeric_limits<double>::infinity();
        for (const s4u::Link* const link : links) rate = std::min(rate, link->get_bandwidth());
        share = std::min(share,
                         flapping_share(found->second, s4u::Engine::get_clock(), bytes / rate));
    }
    return share;
}

double Stretching::rate_factor(const s4u::Host* source, const s4u::Host* destination, double bytes,
                               const std::vector<s4u::Link*>& links) {
    if (source == destination) return 1;
    const Pair pair = pair_of(number_of(source), number_of(destination));
    const auto fault = pairs_.find(pair);
    const double share = fault == pairs_.end() ? 1 : fault->second;
    return share * flapping(pair, bytes, links) / stretch(pair, 2 * sent_[pair].rates++ + 1);
}

}  // namespace fabricgauge::simulated
