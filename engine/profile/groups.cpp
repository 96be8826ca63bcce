#include "groups.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>

#include "weak.hpp"

namespace fabricgauge {

namespace {

std::vector<int> node_of;
int own_rank = 0;

Group of_group(MPI_Group members) {
    Group made;
    MPI_Group world = MPI_GROUP_NULL;
    PMPI_Group_size(members, &made.size);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    std::vector<int> ranks(static_cast<std::size_t>(made.size));
    std::iota(ranks.begin(), ranks.end(), 0);
    made.world.resize(ranks.size());
    PMPI_Group_translate_ranks(members, made.size, ranks.data(), world, made.world.data());
    PMPI_Group_free(&world);
    for (std::int32_t& rank : made.world) {
        if (rank < 0 || rank >= static_cast<std::int32_t>(node_of.size())) rank = -1;
        made.spans_nodes = made.spans_nodes || !on_own_node(rank);
    }
    return made;
}

template <class Kind>
Group make(typename Kind::Handle handle);

template <>
Group make<Communicator>(MPI_Comm communicator) {
    int is_inter = 0;
    MPI_Group members = MPI_GROUP_NULL;
    PMPI_Comm_test_inter(communicator, &is_inter);
    (is_inter ? PMPI_Comm_remote_group : PMPI_Comm_group)(communicator, &members);
    Group made = of_group(members);
    PMPI_Group_free(&members);
    PMPI_Comm_rank(communicator, &made.rank);
    made.is_inter = is_inter != 0;
    return made;
}

template <>
Group make<Window>(MPI_Win window) {
    MPI_Group members = MPI_GROUP_NULL;
    PMPI_Win_get_group(window, &members);
    Group made = of_group(members);
    PMPI_Group_rank(members, &made.rank);
    PMPI_Group_free(&members);
    return made;
}

// A handle's value may come back for another communicator: `frees` tells each thread's memory of
// the last one that something was freed.
std::atomic<std::uint64_t> frees{1};
std::mutex guard;

template <class Kind>
std::map<typename Kind::Handle, std::unique_ptr<Group>> known;

template <class Kind>
typename Kind::Handle none();
template <>
MPI_Comm none<Communicator>() {
    return MPI_COMM_NULL;
}
template <>
MPI_Win none<Window>() {
    return MPI_WIN_NULL;
}

}  // namespace

void know_nodes() {
    int size = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    PMPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
    MPI_Comm beside = MPI_COMM_NULL;
    PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &beside);
    int least = own_rank;
    PMPI_Bcast(&least, 1, MPI_INT, 0, beside);
    PMPI_Comm_free(&beside);
    node_of.assign(static_cast<std::size_t>(size), 0);
    PMPI_Allgather(&least, 1, MPI_INT, node_of.data(), 1, MPI_INT, MPI_COMM_WORLD);
}

std::uint32_t own_node() {
    return static_cast<std::uint32_t>(node_of[static_cast<std::size_t>(own_rank)]);
}

bool on_own_node(std::int32_t world_rank) {
    const auto place = static_cast<std::size_t>(world_rank);
    return world_rank >= 0 && static_cast<std::uint32_t>(node_of[place]) == own_node();
}

template <class Kind>
const Group* group_of(typename Kind::Handle handle) {
    thread_local typename Kind::Handle last{};
    thread_local const Group* group = nullptr;
    thread_local std::uint64_t since = 0;
    const std::uint64_t now = frees.load(std::memory_order_acquire);
    if (since == now && last == handle) return group;
    if (handle == none<Kind>()) return nullptr;
    const std::lock_guard lock(guard);
    std::unique_ptr<Group>& kept = known<Kind>[handle];
    if (!kept) kept = std::make_unique<Group>(make<Kind>(handle));
    last = handle;
    group = kept.get();
    since = now;
    return group;
}

template <class Kind>
void forget(typename Kind::Handle handle) {
    const std::lock_guard lock(guard);
    known<Kind>.erase(handle);
    frees.fetch_add(1, std::memory_order_release);
}

template const Group* group_of<Communicator>(MPI_Comm);
template const Group* group_of<Window>(MPI_Win);
template void forget<Communicator>(MPI_Comm);
template void forget<Window>(MPI_Win);

}  // namespace fabricgauge
