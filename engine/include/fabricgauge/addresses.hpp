// The addresses of each node, so that the destination of a connection is known.
#pragma once

#include <map>
#include <set>
#include <string>

namespace fabricgauge {

// This node's IPv4 and IPv6 addresses without loopback's, by commas.
std::string own_addresses();

class NodeAddresses {
public:
    // `addresses` as own_addresses gives them. An address may be of several nodes: a bridge for
    // containers has the same on all.
    void add(int node, const std::string& addresses);
    // Return true if an endpoint like 10.0.0.1:4711 or [fe80::1]:4711 belongs to another node;
    // false for one that no node has.
    bool is_elsewhere(const std::string& endpoint, int node) const;

private:
    std::map<std::string, std::set<int>> nodes_;
};

}  // namespace fabricgauge
