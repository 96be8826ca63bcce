// Where SimGrid 3.32's MPI is not the standard's; every source of a simulated build begins with it.
#pragma once

#include <mpi.h>

// MPI 4.1, 12.3.4: what is compared is const, too.
inline int MPI_Compare_and_swap(const void* swapped, const void* compared, void* found,
                                MPI_Datatype type, int target, MPI_Aint displacement,
                                MPI_Win window) {
    return MPI_Compare_and_swap(swapped, const_cast<void*>(compared), found, type, target,
                                displacement, window);
}

namespace fabricgauge {

// SimGrid's lets ranks go before the last one has come (seen with 4 and 8 ranks, two of them late).
// Its reduction waits for all, at the price of a message between any two. The engine's own code
// finds this one first.
inline int MPI_Ibarrier(MPI_Comm communicator, MPI_Request* request) {
    static char entered = 0;
    static char all_entered = 0;
    return ::MPI_Iallreduce(&entered, &all_entered, 1, MPI_CHAR, MPI_MAX, communicator, request);
}

}  // namespace fabricgauge
