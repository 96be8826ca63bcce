// One-sided operations over MPI: a window that the target of a case shows to its origin.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "fabricgauge/case_list.hpp"
#include "mpi_call.hpp"

namespace fabricgauge {

// The `peer` of an operation is always the target, whose rank in the window's group is kept here.
class MpiWindow {
public:
    // Collective over the launch; only origin and target have the window. Memory of `bytes` at the
    // target, null elsewhere.
    std::byte* open_window(std::int64_t bytes, int origin, int target, Epoch epoch);
    // The same over memory of the target's own, null elsewhere.
    void show_window(std::byte* memory, std::int64_t bytes, int origin, int target, Epoch epoch);
    void close_window();

    void put(const std::byte* data, std::int64_t bytes, int, std::int64_t displacement) {
        require_success(MPI_Put(data, static_cast<int>(bytes), MPI_BYTE, target_,
                                static_cast<MPI_Aint>(displacement), static_cast<int>(bytes),
                                MPI_BYTE, window_),
                        "MPI_Put");
    }
    void get(std::byte* data, std::int64_t bytes, int, std::int64_t displacement) {
        require_success(MPI_Get(data, static_cast<int>(bytes), MPI_BYTE, target_,
                                static_cast<MPI_Aint>(displacement), static_cast<int>(bytes),
                                MPI_BYTE, window_),
                        "MPI_Get");
    }
    // Unsigned, since a signed sum must not overflow.
    void accumulate(const std::byte* data, std::int64_t bytes, int, std::int64_t displacement) {
        const int count = static_cast<int>(bytes / 8);
        require_success(MPI_Accumulate(data, count, MPI_UINT64_T, target_,
                                       static_cast<MPI_Aint>(displacement), count, MPI_UINT64_T,
                                       MPI_SUM, window_),
                        "MPI_Accumulate");
    }
    void fetch_and_add(const std::byte* added, std::byte* found, int) {
        require_success(
            MPI_Fetch_and_op(added, found, MPI_UINT64_T, target_, 0, MPI_SUM, window_),
            "MPI_Fetch_and_op");
    }
    void compare_and_swap(const std::byte* swapped, const std::byte* compared, std::byte* found,
                          int) {
        require_success(MPI_Compare_and_swap(swapped, compared, found, MPI_UINT64_T, target_, 0,
                                             window_),
                        "MPI_Compare_and_swap");
    }

    void flush(int) { require_success(MPI_Win_flush(target_, window_), "MPI_Win_flush"); }
    void sync_window() { require_success(MPI_Win_sync(window_), "MPI_Win_sync"); }
    void fence() { require_success(MPI_Win_fence(0, window_), "MPI_Win_fence"); }
    void start_access() { require_success(MPI_Win_start(peer_, 0, window_), "MPI_Win_start"); }
    void complete_access() { require_success(MPI_Win_complete(window_), "MPI_Win_complete"); }
    void post_exposure() { require_success(MPI_Win_post(peer_, 0, window_), "MPI_Win_post"); }
    void wait_exposure() { require_success(MPI_Win_wait(window_), "MPI_Win_wait"); }

private:
    void join(int origin, int target, Epoch epoch);
    bool at_target() const;
    void begin_epochs();

    MPI_Comm pair_ = MPI_COMM_NULL;
    MPI_Win window_ = MPI_WIN_NULL;
    MPI_Group peer_ = MPI_GROUP_NULL;
    int target_ = 0;
    Epoch epoch_ = Epoch::flush;
};

}  // namespace fabricgauge
