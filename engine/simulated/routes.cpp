#include "routes.hpp"

#include <algorithm>
#include <set>

namespace fabricgauge::simulated {

namespace {

namespace s4u = simgrid::s4u;

bool by_name(const s4u::Link* one, const s4u::Link* other) {
    return one->get_name() < other->get_name();
}

using Found = std::set<s4u::Link*, decltype(&by_name)>;

const s4u::Host* host_of(const s4u::Engine& engine, const std::string& node) {
    const s4u::Host* const host = engine.host_by_name_or_null(node);
    if (host == nullptr) throw PlantedError("the platform has no host " + node);
    return host;
}

// The links between two hosts, those of `near` first whichever way they are passed.
Links route(const s4u::Host* near, const s4u::Host* far, Way way) {
    Links links;
    double latency = 0;
    (way == Way::out ? near : far)->route_to(way == Way::out ? far : near, links, &latency);
    if (way == Way::in) std::reverse(links.begin(), links.end());
    return links;
}

Links sorted(const Found& found, const std::string& what) {
    if (found.empty()) throw PlantedError(what);
    return {found.begin(), found.end()};
}

}  // namespace

Links links_of(const s4u::Engine& engine, const std::string& node, Way way) {
    const s4u::Host* const near = host_of(engine, node);
    Found found(by_name);
    for (const s4u::Host* const far : engine.get_all_hosts()) {
        const Links links = far == near ? Links{} : route(near, far, way);
        if (!links.empty()) found.insert(links.front());
    }
    return sorted(found, "no route joins " + node + " to another host");
}

Links uplinks_of(const s4u::Engine& engine, const std::vector<std::string>& nodes, Way way) {
    std::set<const s4u::Host*> group;
    for (const std::string& node : nodes) group.insert(host_of(engine, node));
    std::set<const s4u::Link*> inside;
    for (const s4u::Host* const near : group)
        for (const s4u::Host* const far : group) {
            if (far == near) continue;
            const Links links = route(near, far, way);
            inside.insert(links.begin(), links.end());
        }
    Found found(by_name);
    for (const s4u::Host* const near : group)
        for (const s4u::Host* const far : engine.get_all_hosts()) {
            if (group.count(far) != 0) continue;
            const Links links = route(near, far, way);
            // The first is the node's own, the last the other node's own.
            for (std::size_t i = 1; i + 1 < links.size(); ++i)
                if (inside.count(links[i]) == 0) {
                    found.insert(links[i]);
                    break;
                }
        }
    return sorted(found, "no link leads out of the group of " + nodes.front());
}

}  // namespace fabricgauge::simulated
