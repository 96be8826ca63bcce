// Where a loading rank sends to and receives from.
//
// A route is walked again and again. Entry k of `targets` and entry k of `sources` belong to the
// same step: whoever is somebody's k-th target has that one for its k-th source. All ranks that
// walk in that order, however far apart, can never wait for each other in a circle: the earliest
// step that any of them waits in is one that both of its ends have reached.
#pragma once

#include <cstdint>
#include <vector>

#include "fabricgauge/case_list.hpp"

namespace fabricgauge {

// So long that its rendezvous is small beside it, and sent by rendezvous, so that what has no
// receive yet waits at its sender.
constexpr std::int64_t load_message_bytes = std::int64_t{1} << 20;

// A rank may be in it several times: it then has so many messages in flight.
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
