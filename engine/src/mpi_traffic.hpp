// Requests in numbered slots, handed out as they end: see fabricgauge/load_stream.hpp.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabricgauge/load_stream.hpp"
#include "mpi_transport.hpp"

namespace fabricgauge {

class MpiTraffic {
public:
    explicit MpiTraffic(int slots);

    void send(int slot, const std::byte* data, std::int64_t bytes, int peer);
    void receive(int slot, std::byte* data, std::int64_t bytes, int peer);
    void receive_message(int slot, std::byte* data, std::int64_t bytes, int peer);
    void receive_control(int slot, void* data, std::int64_t bytes, int peer);
    void receive_release(int slot, int from);
    void notify(int slot, int peer);
    const std::vector<Arrival>& await_some();

private:
    void start_send(int slot, const std::byte* data, std::int64_t bytes, int peer, int tag);
    void start_receive(int slot, void* data, std::int64_t bytes, int peer, int tag);
    MPI_Request* request(int slot) { return requests_.data() + slot; }

    std::vector<MPI_Request> requests_;
    std::vector<int> ended_;
    std::vector<MPI_Status> statuses_;
    std::vector<bool> receives_;
    std::vector<Arrival> arrivals_;
};

}  // namespace fabricgauge
