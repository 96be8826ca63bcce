// The destinations and sources of a loading rank.
//
// A route is walked again and again. Entry k of `targets` and entry k of `sources` belong to the
// same step: the k-th target of a rank has that rank as its k-th source. Ranks that walk in this
// order, however far apart, never wait for each other in a circle: both ends of the earliest step
// that any of them waits in have reached that step.
#pragma once

#include <cstdint>
#include <vector>

#include "fabricgauge/case_list.hpp"

namespace fabricgauge {

// So long that its rendezvous is small beside it, and sent by rendezvous, so that what has no
// receive yet waits at its sender.
constexpr std::int64_t load_message_bytes = std::int64_t{1} << 20;

// A rank that is in it several times has that number of messages in flight.
struct LoadRoute {
    std::vector<int> targets;
    std::vector<int> sources;
};

// Messages that each loading rank has in flight: one is always on its way.
std::int64_t load_in_flight(const Case& measured) noexcept;

// all_to_all: every loading rank sends to all others in turn, its right neighbour first. incast:
// all send to `sink`, which makes no load. permutation: each sends to one other and receives from
// one other, a circle through all in an order that a fixed seed draws.
LoadRoute load_route(const Case& measured, const std::vector<int>& loading, int sink, int rank);

}  // namespace fabricgauge
