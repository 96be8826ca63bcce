#include "fabricgauge/neighbours.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

namespace fabricgauge {

namespace {

void add_processors(std::set<int>& processors, const std::string& list) {
    std::istringstream ranges(list);
    for (std::string range; std::getline(ranges, range, ',');) {
        std::istringstream ends(range);
        int first = 0;
        char dash = 0;
        if (!(ends >> first)) continue;
        int last = first;
        ends >> dash >> last;
        for (int number = first; number <= last; ++number) processors.insert(number);
    }
}

struct Machine {
    std::size_t ranks = 0;
    std::set<std::string> lists;
    std::set<int> processors = {};
};

}  // namespace

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

bool outnumber_processors(const std::vector<RankProcessors>& ranks, int members) {
    std::map<std::string, Machine> machines;
    const auto count = std::min(ranks.size(), static_cast<std::size_t>(members));
    for (std::size_t rank = 0; rank < count; ++rank) {
        const RankProcessors& place = ranks[rank];
        if (place.machine.empty() || place.allowed.empty()) continue;
        Machine& machine = machines[place.machine];
        ++machine.ranks;
        if (machine.lists.insert(place.allowed).second)
            add_processors(machine.processors, place.allowed);
    }
    return std::any_of(machines.begin(), machines.end(), [](const auto& machine) {
        return machine.second.ranks > machine.second.processors.size();
    });
}

}  // namespace fabricgauge
