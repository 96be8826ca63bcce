// Which links a fault of a node or of a group falls on, found from the routes of the platform, so
// that any platform will do.
#pragma once

#include <simgrid/s4u.hpp>

#include <string>
#include <vector>

#include "planted.hpp"

namespace fabricgauge::simulated {

using Links = std::vector<simgrid::s4u::Link*>;

// The first links of the routes that begin at the node, or the last of those that end there; each
// once, in the order of their names. A torus has several of them, a host of a switch one.
Links links_of(const simgrid::s4u::Engine& engine, const std::string& node, Way way);

// The links by which the routes of the group's nodes leave it, or come back: of each such route the
// one nearest to the node that no route inside the group has, past the node's own.
Links uplinks_of(const simgrid::s4u::Engine& engine, const std::vector<std::string>& nodes,
                 Way way);

}  // namespace fabricgauge::simulated
