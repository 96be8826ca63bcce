#include "mpi_group.hpp"

#include "fabricgauge/gathering.hpp"
#include "host.hpp"

namespace fabricgauge {

namespace {

constexpr int entered_tag = 1;
constexpr int passed_tag = 2;

void require(int code, const char* call) { MpiTransport::require(code, call); }

}  // namespace

MpiGroup::MpiGroup(MPI_Comm communicator, bool inside) {
    int rank = 0;
    require(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    require(MPI_Comm_split(communicator, inside ? 0 : 1, rank, &members_), "MPI_Comm_split");
    require(MPI_Comm_set_errhandler(members_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    require(MPI_Comm_rank(members_, &rank_), "MPI_Comm_rank");
    require(MPI_Comm_size(members_, &ranks_), "MPI_Comm_size");
}

void MpiGroup::close() { require(MPI_Comm_free(&members_), "MPI_Comm_free"); }

void MpiGroup::enter_barrier() {
    if constexpr (Host::simulated)
        post_tokens();
    else
        require(MPI_Ibarrier(members_, &entered_), "MPI_Ibarrier");
}

bool MpiGroup::barrier_passed() {
    if constexpr (Host::simulated) return tokens_passed();
    int passed = 0;
    require(MPI_Test(&entered_, &passed, MPI_STATUS_IGNORE), "MPI_Test");
    return passed != 0;
}

// A barrier of two messages per rank. SimGrid 3.32 has none that holds: its non-blocking reduction
// sends a message between any two ranks and leaves them in lists that every later wait searches.
void MpiGroup::post_tokens() {
    tokens_.assign(static_cast<std::size_t>(rank_ == 0 ? ranks_ - 1 : 2), MPI_REQUEST_NULL);
    if (rank_ != 0) {
        require(MPI_Isend(nullptr, 0, MPI_BYTE, 0, entered_tag, members_, &tokens_[0]), "MPI_Isend");
        require(MPI_Irecv(nullptr, 0, MPI_BYTE, 0, passed_tag, members_, &tokens_[1]), "MPI_Irecv");
        return;
    }
    for (int rank = 1; rank < ranks_; ++rank)
        require(MPI_Irecv(nullptr, 0, MPI_BYTE, rank, entered_tag, members_,
                          &tokens_[static_cast<std::size_t>(rank - 1)]),
                "MPI_Irecv");
}

bool MpiGroup::tokens_passed() {
    const int count = checked_count(static_cast<std::int64_t>(tokens_.size()));
    int passed = 0;
    require(MPI_Testall(count, tokens_.data(), &passed, MPI_STATUSES_IGNORE), "MPI_Testall");
    if (passed == 0 || rank_ != 0) return passed != 0;
    for (int rank = 1; rank < ranks_; ++rank)
        require(MPI_Isend(nullptr, 0, MPI_BYTE, rank, passed_tag, members_,
                          &tokens_[static_cast<std::size_t>(rank - 1)]),
                "MPI_Isend");
    require(MPI_Waitall(count, tokens_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    return true;
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
