#include "mpi_window.hpp"

namespace fabricgauge {

namespace {

// A fence is of all ranks of a window, so those that take no part must not be in it.
MPI_Comm pair_of(int origin, int target) {
    int rank = 0;
    int ranks = 0;
    require_success(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    require_success(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "MPI_Comm_size");
    if (ranks == 2) return MPI_COMM_WORLD;
    const int side = rank == origin || rank == target ? 0 : MPI_UNDEFINED;
    MPI_Comm pair = MPI_COMM_NULL;
    require_success(MPI_Comm_split(MPI_COMM_WORLD, side, rank, &pair), "MPI_Comm_split");
    if (pair != MPI_COMM_NULL)
        require_success(MPI_Comm_set_errhandler(pair, MPI_ERRORS_RETURN),
                        "MPI_Comm_set_errhandler");
    return pair;
}

// The group of the other rank of two.
MPI_Group group_of_peer(MPI_Comm pair) {
    int rank = 0;
    MPI_Group both = MPI_GROUP_NULL;
    MPI_Group peer = MPI_GROUP_NULL;
    require_success(MPI_Comm_rank(pair, &rank), "MPI_Comm_rank");
    require_success(MPI_Comm_group(pair, &both), "MPI_Comm_group");
    const int other = 1 - rank;
    require_success(MPI_Group_incl(both, 1, &other, &peer), "MPI_Group_incl");
    require_success(MPI_Group_free(&both), "MPI_Group_free");
    return peer;
}

}  // namespace

void MpiWindow::join(int origin, int target, Epoch epoch) {
    epoch_ = epoch;
    target_ = target > origin ? 1 : 0;
    pair_ = pair_of(origin, target);
}

bool MpiWindow::at_target() const {
    int rank = 0;
    require_success(MPI_Comm_rank(pair_, &rank), "MPI_Comm_rank");
    return rank == target_;
}

std::byte* MpiWindow::open_window(std::int64_t bytes, int origin, int target, Epoch epoch) {
    join(origin, target, epoch);
    if (pair_ == MPI_COMM_NULL) return nullptr;
    const bool shows = at_target();
    void* memory = nullptr;
    require_success(MPI_Win_allocate(shows ? static_cast<MPI_Aint>(bytes) : 0, 1, MPI_INFO_NULL,
                                     pair_, &memory, &window_),
                    "MPI_Win_allocate");
    begin_epochs();
    return shows ? static_cast<std::byte*>(memory) : nullptr;
}

void MpiWindow::show_window(std::byte* memory, std::int64_t bytes, int origin, int target,
                            Epoch epoch) {
    join(origin, target, epoch);
    if (pair_ == MPI_COMM_NULL) return;
    require_success(MPI_Win_create(memory, at_target() ? static_cast<MPI_Aint>(bytes) : 0, 1,
                                   MPI_INFO_NULL, pair_, &window_),
                    "MPI_Win_create");
    begin_epochs();
}

// The target holds its own lock too, so that it may read the written data.
void MpiWindow::begin_epochs() {
    require_success(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
    switch (epoch_) {
        case Epoch::flush:
            require_success(MPI_Win_lock(MPI_LOCK_SHARED, target_, 0, window_), "MPI_Win_lock");
            break;
        case Epoch::fence: fence(); break;
        case Epoch::pscw: peer_ = group_of_peer(pair_); break;
    }
}

void MpiWindow::close_window() {
    if (pair_ == MPI_COMM_NULL) return;
    switch (epoch_) {
        case Epoch::flush:
            require_success(MPI_Win_unlock(target_, window_), "MPI_Win_unlock");
            break;
        case Epoch::fence:
            require_success(MPI_Win_fence(MPI_MODE_NOSUCCEED, window_), "MPI_Win_fence");
            break;
        case Epoch::pscw: require_success(MPI_Group_free(&peer_), "MPI_Group_free"); break;
    }
    require_success(MPI_Win_free(&window_), "MPI_Win_free");
    if (pair_ != MPI_COMM_WORLD) require_success(MPI_Comm_free(&pair_), "MPI_Comm_free");
    pair_ = MPI_COMM_NULL;
}

}  // namespace fabricgauge
