// The message layer over MPI; with what starts it the only place that knows it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fabricgauge/pair_limits.hpp"
#include "fabricgauge/records.hpp"
#include "mpi_call.hpp"
#include "mpi_channel.hpp"
#include "mpi_window.hpp"

namespace fabricgauge {

class MpiCollectives;
class Messages;
class MpiGroup;
class MpiTraffic;
struct CollectiveMemory;

class MpiSession {
public:
    // `thread_multiple` asks for a library in which several threads may call at once.
    MpiSession(int* argc, char*** argv, bool thread_multiple);
    ~MpiSession();
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;

    // The status to end with should MPI_Finalize not return; also returns it.
    int finish_with(int status) noexcept { return status_ = status; }

private:
    int status_ = 0;
};

MpiVersion mpi_version();

class MpiTransport : public MpiWindow {
public:
    using Channel = MpiChannel;

    static constexpr bool pairs_only = false;
    static constexpr int data_tag = 1;
    static constexpr int control_tag = 2;
    static constexpr int release_tag = 3;
    static constexpr int load_tag = 4;
    static constexpr int first_channel_tag = 16;

    MpiTransport();

    int rank() const noexcept { return rank_; }
    int ranks() const noexcept { return ranks_; }
    MpiVersion version() const { return mpi_version(); }
    std::string beyond(const Case& measured) const { return beyond_pair(measured, thread_level()); }
    std::string description() const { return ""; }
    void open_pair(const Case&, const Messages&) {}
    std::string close_pair() { return ""; }

    void send(const std::byte* data, std::int64_t bytes, int peer) {
        require(MPI_Send(data, static_cast<int>(bytes), MPI_BYTE, peer, data_tag, world()), "MPI_Send");
    }
    void receive(std::byte* data, std::int64_t bytes, int peer) {
        require(MPI_Recv(data, static_cast<int>(bytes), MPI_BYTE, peer, data_tag, world(),
                         MPI_STATUS_IGNORE),
                "MPI_Recv");
    }
    void start_send(std::int64_t slot, const std::byte* data, std::int64_t bytes, int peer) {
        require(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, peer, data_tag, world(),
                          requests_.data() + slot),
                "MPI_Isend");
    }
    void start_receive(std::int64_t slot, std::byte* data, std::int64_t bytes, int peer) {
        require(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, peer, data_tag, world(),
                          requests_.data() + slot),
                "MPI_Irecv");
    }
    void send_and_receive(const std::byte* out, int to, std::byte* in, int from,
                          std::int64_t bytes) {
        require(MPI_Sendrecv(out, static_cast<int>(bytes), MPI_BYTE, to, data_tag, in,
                             static_cast<int>(bytes), MPI_BYTE, from, data_tag, world(),
                             MPI_STATUS_IGNORE),
                "MPI_Sendrecv");
    }
    void wait_all(std::int64_t slots) {
        require(MPI_Waitall(static_cast<int>(slots), requests_.data(), MPI_STATUSES_IGNORE),
                "MPI_Waitall");
    }
    void make_send(std::int64_t slot, const std::byte* data, std::int64_t bytes, int peer) {
        require(MPI_Send_init(data, static_cast<int>(bytes), MPI_BYTE, peer, data_tag, world(),
                              requests_.data() + slot),
                "MPI_Send_init");
    }
    void make_receive(std::int64_t slot, std::byte* data, std::int64_t bytes, int peer) {
        require(MPI_Recv_init(data, static_cast<int>(bytes), MPI_BYTE, peer, data_tag, world(),
                              requests_.data() + slot),
                "MPI_Recv_init");
    }
    void start(std::int64_t slot) { require(MPI_Start(requests_.data() + slot), "MPI_Start"); }
    void wait(std::int64_t slot) {
        require(MPI_Wait(requests_.data() + slot, MPI_STATUS_IGNORE), "MPI_Wait");
    }
    void start_all(std::int64_t slots) {
        require(MPI_Startall(static_cast<int>(slots), requests_.data()), "MPI_Startall");
    }
    // Free requests that were made and are not active.
    void discard(std::int64_t slots);
    MpiChannel channel(int number, std::int64_t slots) const {
        return {first_channel_tag + number, slots};
    }

    void send_control(const void* data, std::int64_t bytes, int peer);
    void receive_control(void* data, std::int64_t bytes, int peer);
    // Return true if a message has arrived, so that it is received at once.
    bool has_control(int peer) const;

    void barrier();
    std::vector<std::string> gather(const std::string& text);
    void broadcast(std::string& text);
    void reserve(std::int64_t slots);
    // Collective over all ranks; the first `members` are the communicator until it is closed.
    void open_communicator(int members);
    void close_communicator();
    // Among the communicator only; waits without load.
    void quiet_barrier();
    // Among the communicator only, at rank 0.
    std::vector<std::string> gather_in_communicator(const std::string& text);
    // From rank 0 to the communicator.
    void broadcast_in_communicator(void* data, std::int64_t bytes);
    // Each value becomes the least that any rank of the communicator has.
    void minimum_in_communicator(std::int64_t* values, std::int64_t count);
    // All ranks of the communicator in one operation: see mpi_collectives.hpp.
    MpiCollectives collectives(const CollectiveMemory& memory) const;
    // Collective over the communicator of the measuring ranks, see mpi_group.hpp.
    MpiGroup form_group(bool inside) const;
    // Messages of load and what else a rank waits for meanwhile, see mpi_traffic.hpp.
    MpiTraffic traffic(int slots) const;
    void release(int rank);
    void await_release(int from);

    // Ends every rank of the launch.
    [[noreturn]] static void abort(int status);

    static void require(int code, const char* call) { require_success(code, call); }

private:
    static MPI_Comm world() noexcept { return MPI_COMM_WORLD; }
    // By its name in the MPI standard, like MPI_THREAD_SINGLE.
    std::string thread_level() const;
    static void wait_quietly(MPI_Request& request);
    std::vector<std::string> gather_in(MPI_Comm communicator, const std::string& text) const;

    int rank_ = 0;
    int ranks_ = 1;
    std::vector<MPI_Request> requests_;
    MPI_Comm communicator_ = MPI_COMM_WORLD;
};

}  // namespace fabricgauge
