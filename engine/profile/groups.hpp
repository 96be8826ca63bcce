// Who is in a communicator or window, and on which node: looked up once, then remembered.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace fabricgauge {

struct Group {
    int size = 0, rank = -1;      // rank is this one's in it, the local one of an intercommunicator
    bool spans_nodes = false, is_inter = false;
    std::vector<std::int32_t> world;  // by rank: that in MPI_COMM_WORLD, negative outside of it
};

// By rank of MPI_COMM_WORLD the least rank on its node.
void know_nodes();
std::uint32_t own_node();
bool on_own_node(std::int32_t world_rank);

// Both handles are plain numbers in some MPIs: their kind is told apart by these.
struct Communicator {
    using Handle = MPI_Comm;
};
struct Window {
    using Handle = MPI_Win;
};

// The group that a rank sends to, null for no valid handle. It stays until the handle is freed.
template <class Kind>
const Group* group_of(typename Kind::Handle handle);
template <class Kind>
void forget(typename Kind::Handle handle);

}  // namespace fabricgauge
