// The ranks of a communicator that measure, among themselves: rank 0 is one of them.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "mpi_transport.hpp"

namespace fabricgauge {

class MpiGroup {
public:
    // Collective over the communicator; the ranks outside have a group of their own, of no use.
    MpiGroup(MPI_Comm communicator, bool inside);
    // Collective. Not the destructor's work, since after a failed call it would never return.
    void close();

    int ranks() const noexcept { return ranks_; }
    void barrier() const { MpiTransport::require(MPI_Barrier(members_), "MPI_Barrier"); }
    // Enter a barrier now; it is passed once barrier_passed() returns true.
    void enter_barrier();
    bool barrier_passed();
    // From rank 0.
    void tell(void* data, std::int64_t bytes) const;
    // At rank 0 those of all, one rank's after the other's; elsewhere `all` is not used.
    void gather(const std::int64_t* own, std::int64_t count, std::int64_t* all) const;

private:
    void post_tokens();
    bool tokens_passed();

    MPI_Comm members_ = MPI_COMM_NULL;
    MPI_Request entered_ = MPI_REQUEST_NULL;
    std::vector<MPI_Request> tokens_;  // of a simulation
    int rank_ = 0;
    int ranks_ = 0;
};

}  // namespace fabricgauge
