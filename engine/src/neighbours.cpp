#include "fabricgauge/neighbours.hpp"

#include <map>

namespace fabricgauge {

Neighbours neighbours_of(const std::vector<std::string>& node_keys, int rank) {
    const auto self = static_cast<std::size_t>(rank);
    Neighbours found{true, 0};
    for (std::size_t other = 0; other < node_keys.size(); ++other) {
        if (node_keys[other] != node_keys[self]) continue;
        ++found.on_node;
        if (other < self) found.lowest = false;
    }
    return found;
}

std::vector<int> nodes_of(const std::vector<std::string>& node_keys) {
    std::map<std::string, int> known;
    std::vector<int> nodes;
    for (const std::string& key : node_keys)
        nodes.push_back(known.emplace(key, static_cast<int>(known.size())).first->second);
    return nodes;
}

}  // namespace fabricgauge
