// The ranks that share a node.
#pragma once

#include <string>
#include <vector>

namespace fabricgauge {

struct Neighbours {
    bool lowest;  // this rank is the first of its node
    int on_node;  // ranks on this node, this one included
};

// node_keys holds one text per rank, equal for ranks of the same node.
Neighbours neighbours_of(const std::vector<std::string>& node_keys, int rank);

// One number per rank, equal for ranks of the same node.
std::vector<int> nodes_of(const std::vector<std::string>& node_keys);

// A rank's machine, which nodes of a virtual cluster share, and the processors that it may use there
// as a list like 0-3,8. Empty if unknown.
struct RankProcessors {
    std::string machine;
    std::string allowed;
};

// Return true if the first `members` ranks outnumber the processors that they may use on a machine.
bool outnumber_processors(const std::vector<RankProcessors>& ranks, int members);

}  // namespace fabricgauge
