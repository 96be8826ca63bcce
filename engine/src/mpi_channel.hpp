// The messages of one pair of threads: all pairs share the communicator, each has a tag of its own.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi_call.hpp"

namespace fabricgauge {

class MpiChannel {
public:
    MpiChannel(int tag, std::int64_t slots)
        : tag_(tag), requests_(static_cast<std::size_t>(slots), MPI_REQUEST_NULL) {}

    void send(const std::byte* data, std::int64_t bytes, int peer) {
        require_success(
            MPI_Send(data, static_cast<int>(bytes), MPI_BYTE, peer, tag_, MPI_COMM_WORLD),
            "MPI_Send");
    }
    void receive(std::byte* data, std::int64_t bytes, int peer) {
        require_success(MPI_Recv(data, static_cast<int>(bytes), MPI_BYTE, peer, tag_,
                                 MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                        "MPI_Recv");
    }
    void start_send(std::int64_t slot, const std::byte* data, std::int64_t bytes, int peer) {
        require_success(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, peer, tag_,
                                  MPI_COMM_WORLD, requests_.data() + slot),
                        "MPI_Isend");
    }
    void start_receive(std::int64_t slot, std::byte* data, std::int64_t bytes, int peer) {
        require_success(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, peer, tag_,
                                  MPI_COMM_WORLD, requests_.data() + slot),
                        "MPI_Irecv");
    }
    void wait_all(std::int64_t slots) {
        require_success(
            MPI_Waitall(static_cast<int>(slots), requests_.data(), MPI_STATUSES_IGNORE),
            "MPI_Waitall");
    }

private:
    int tag_;
    std::vector<MPI_Request> requests_;
};

}  // namespace fabricgauge
