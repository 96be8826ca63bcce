#include "mpi_traffic.hpp"

namespace fabricgauge {

namespace {

void require(int code, const char* call) { MpiTransport::require(code, call); }

}  // namespace

MpiTraffic::MpiTraffic(int slots)
    : requests_(static_cast<std::size_t>(slots), MPI_REQUEST_NULL),
      ended_(requests_.size()), statuses_(requests_.size()), receives_(requests_.size()) {
    arrivals_.reserve(requests_.size());
}

void MpiTraffic::send(int slot, const std::byte* data, std::int64_t bytes, int peer) {
    start_send(slot, data, bytes, peer, MpiTransport::load_tag);
}

void MpiTraffic::receive(int slot, std::byte* data, std::int64_t bytes, int peer) {
    start_receive(slot, data, bytes, peer, MpiTransport::load_tag);
}

void MpiTraffic::receive_message(int slot, std::byte* data, std::int64_t bytes, int peer) {
    start_receive(slot, data, bytes, peer, MpiTransport::data_tag);
}

void MpiTraffic::receive_control(int slot, void* data, std::int64_t bytes, int peer) {
    start_receive(slot, data, bytes, peer, MpiTransport::control_tag);
}

void MpiTraffic::receive_release(int slot, int from) {
    start_receive(slot, nullptr, 0, from, MpiTransport::release_tag);
}

void MpiTraffic::notify(int slot, int peer) {
    start_send(slot, nullptr, 0, peer, MpiTransport::release_tag);
}

const std::vector<Arrival>& MpiTraffic::await_some() {
    int count = 0;
    require(MPI_Waitsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                         ended_.data(), statuses_.data()),
            "MPI_Waitsome");
    arrivals_.clear();
    for (int i = 0; count != MPI_UNDEFINED && i < count; ++i) {
        const auto place = static_cast<std::size_t>(i);
        int bytes = 0;
        if (receives_[static_cast<std::size_t>(ended_[place])])
            require(MPI_Get_count(&statuses_[place], MPI_BYTE, &bytes), "MPI_Get_count");
        arrivals_.push_back({ended_[place], bytes});
    }
    return arrivals_;
}

void MpiTraffic::start_send(int slot, const std::byte* data, std::int64_t bytes, int peer,
                            int tag) {
    receives_[static_cast<std::size_t>(slot)] = false;
    require(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, peer, tag, MPI_COMM_WORLD,
                      request(slot)),
            "MPI_Isend");
}

void MpiTraffic::start_receive(int slot, void* data, std::int64_t bytes, int peer, int tag) {
    receives_[static_cast<std::size_t>(slot)] = true;
    require(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, peer, tag, MPI_COMM_WORLD,
                      request(slot)),
            "MPI_Irecv");
}

}  // namespace fabricgauge
