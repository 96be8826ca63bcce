// Operations of all ranks over MPI, one call each. `complete` completes a started operation.
#pragma once

#include <mpi.h>

#include "fabricgauge/collective_memory.hpp"
#include "mpi_transport.hpp"

namespace fabricgauge {

class MpiCollectives {
public:
    MpiCollectives(MPI_Comm communicator, const CollectiveMemory& memory);

    void barrier() const { require(MPI_Barrier(communicator_), "MPI_Barrier"); }
    void bcast() const {
        require(MPI_Bcast(in_, bytes_, MPI_BYTE, root, communicator_), "MPI_Bcast");
    }
    void reduce() const {
        require(MPI_Reduce(out_, in_, floats_, MPI_FLOAT, MPI_SUM, root, communicator_),
                "MPI_Reduce");
    }
    void allreduce() const {
        require(MPI_Allreduce(out_, in_, floats_, MPI_FLOAT, MPI_SUM, communicator_),
                "MPI_Allreduce");
    }
    void reduce_scatter() const {
        require(MPI_Reduce_scatter(out_, in_, counts(), MPI_FLOAT, MPI_SUM, communicator_),
                "MPI_Reduce_scatter");
    }
    void allgather() const {
        require(MPI_Allgather(out_, bytes_, MPI_BYTE, in_, bytes_, MPI_BYTE, communicator_),
                "MPI_Allgather");
    }
    void allgatherv() const {
        require(MPI_Allgatherv(out_, bytes_, MPI_BYTE, in_, counts(), offsets(), MPI_BYTE,
                               communicator_),
                "MPI_Allgatherv");
    }
    void gather() const {
        require(MPI_Gather(out_, bytes_, MPI_BYTE, in_, bytes_, MPI_BYTE, root, communicator_),
                "MPI_Gather");
    }
    void gatherv() const {
        require(MPI_Gatherv(out_, bytes_, MPI_BYTE, in_, counts(), offsets(), MPI_BYTE, root,
                            communicator_),
                "MPI_Gatherv");
    }
    void scatter() const {
        require(MPI_Scatter(out_, bytes_, MPI_BYTE, in_, bytes_, MPI_BYTE, root, communicator_),
                "MPI_Scatter");
    }
    void scatterv() const {
        require(MPI_Scatterv(out_, counts(), offsets(), MPI_BYTE, in_, bytes_, MPI_BYTE, root,
                             communicator_),
                "MPI_Scatterv");
    }
    void alltoall() const {
        require(MPI_Alltoall(out_, bytes_, MPI_BYTE, in_, bytes_, MPI_BYTE, communicator_),
                "MPI_Alltoall");
    }
    void alltoallv() const {
        require(MPI_Alltoallv(out_, counts(), offsets(), MPI_BYTE, in_, counts(), offsets(),
                              MPI_BYTE, communicator_),
                "MPI_Alltoallv");
    }

    void start_barrier() { require(MPI_Ibarrier(communicator_, &request_), "MPI_Ibarrier"); }
    void start_bcast() {
        require(MPI_Ibcast(in_, bytes_, MPI_BYTE, root, communicator_, &request_), "MPI_Ibcast");
    }
    void start_reduce() {
        require(MPI_Ireduce(out_, in_, floats_, MPI_FLOAT, MPI_SUM, root, communicator_, &request_),
                "MPI_Ireduce");
    }
    void start_allreduce() {
        require(MPI_Iallreduce(out_, in_, floats_, MPI_FLOAT, MPI_SUM, communicator_, &request_),
                "MPI_Iallreduce");
    }
    void start_reduce_scatter() {
        require(
            MPI_Ireduce_scatter(out_, in_, counts(), MPI_FLOAT, MPI_SUM, communicator_, &request_),
            "MPI_Ireduce_scatter");
    }
    void start_allgather() {
        require(
            MPI_Iallgather(out_, bytes_, MPI_BYTE, in_, bytes_, MPI_BYTE, communicator_, &request_),
            "MPI_Iallgather");
    }
    void start_allgatherv() {
        require(MPI_Iallgatherv(out_, bytes_, MPI_BYTE, in_, counts(), offsets(), MPI_BYTE,
                                communicator_, &request_),
                "MPI_Iallgatherv");
    }
    void start_gather() {
        require(MPI_Igather(out_, bytes_, MPI_BYTE, in_, bytes_, MPI_BYTE, root, communicator_,
                            &request_),
                "MPI_Igather");
    }
    void start_gatherv() {
        require(MPI_Igatherv(out_, bytes_, MPI_BYTE, in_, counts(), offsets(), MPI_BYTE, root,
                             communicator_, &request_),
                "MPI_Igatherv");
    }
    void start_scatter() {
        require(MPI_Iscatter(out_, bytes_, MPI_BYTE, in_, bytes_, MPI_BYTE, root, communicator_,
                             &request_),
                "MPI_Iscatter");
    }
    void start_scatterv() {
        require(MPI_Iscatterv(out_, counts(), offsets(), MPI_BYTE, in_, bytes_, MPI_BYTE, root,
                              communicator_, &request_),
                "MPI_Iscatterv");
    }
    void start_alltoall() {
        require(
            MPI_Ialltoall(out_, bytes_, MPI_BYTE, in_, bytes_, MPI_BYTE, communicator_, &request_),
            "MPI_Ialltoall");
    }
    void start_alltoallv() {
        require(MPI_Ialltoallv(out_, counts(), offsets(), MPI_BYTE, in_, counts(), offsets(),
                               MPI_BYTE, communicator_, &request_),
                "MPI_Ialltoallv");
    }
    void complete() { require(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait"); }

private:
    static constexpr int root = collective_root;

    static void require(int code, const char* call) { MpiTransport::require(code, call); }
    const int* counts() const noexcept { return counts_.data(); }
    const int* offsets() const noexcept { return offsets_.data(); }

    MPI_Comm communicator_;
    const std::byte* out_;
    std::byte* in_;
    int bytes_;
    int floats_;
    std::vector<int> counts_;
    std::vector<int> offsets_;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace fabricgauge
