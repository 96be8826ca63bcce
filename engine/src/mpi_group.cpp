#include "mpi_group.hpp"

#include "fabricgauge/gathering.hpp"

namespace fabricgauge {

namespace {

void require(int code, const char* call) { MpiTransport::require(code, call); }

}  // namespace

MpiGroup::MpiGroup(MPI_Comm communicator, bool inside) {
    int rank = 0;
    require(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    require(MPI_Comm_split(communicator, inside ? 0 : 1, rank, &members_), "MPI_Comm_split");
    require(MPI_Comm_set_errhandler(members_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    require(MPI_Comm_size(members_, &ranks_), "MPI_Comm_size");
}

void MpiGroup::close() { require(MPI_Comm_free(&members_), "MPI_Comm_free"); }

void MpiGroup::enter_barrier() { require(MPI_Ibarrier(members_, &entered_), "MPI_Ibarrier"); }

bool MpiGroup::barrier_passed() {
    int passed = 0;
    require(MPI_Test(&entered_, &passed, MPI_STATUS_IGNORE), "MPI_Test");
    return passed != 0;
}

void MpiGroup::tell(void* data, std::int64_t bytes) const {
    require(MPI_Bcast(data, checked_count(bytes), MPI_BYTE, 0, members_), "MPI_Bcast");
}

void MpiGroup::gather(const std::int64_t* own, std::int64_t count, std::int64_t* all) const {
    require(MPI_Gather(own, checked_count(count), MPI_INT64_T, all, checked_count(count), MPI_INT64_T,
                       0, members_),
            "MPI_Gather");
}

}  // namespace fabricgauge
