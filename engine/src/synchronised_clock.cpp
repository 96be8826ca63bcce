#include "fabricgauge/synchronised_clock.hpp"

namespace fabricgauge {

std::vector<int> lowest_ranks_of_nodes(const Communicator& communicator) {
    std::vector<bool> seen(communicator.nodes.size() + 1, false);
    std::vector<int> lowest;
    for (int rank = 0; rank < communicator.members; ++rank) {
        const auto node =
            static_cast<std::size_t>(communicator.nodes[static_cast<std::size_t>(rank)]);
        if (node >= seen.size()) seen.resize(node + 1, false);
        if (!seen[node]) lowest.push_back(rank);
        seen[node] = true;
    }
    return lowest;
}

int parent_in_tree(int place) noexcept {
    int highest = 1;
    while (highest * 2 <= place) highest *= 2;
    return place - highest;
}

}  // namespace fabricgauge
