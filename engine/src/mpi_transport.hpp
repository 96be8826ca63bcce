// The message layer over MPI; with what starts it the only place that knows it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "fabricgauge/records.hpp"

namespace fabricgauge {

// Names the call and carries the library's own text.
class MpiError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class MpiSession {
public:
    MpiSession(int* argc, char*** argv);
    ~MpiSession();
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;

    // The status to end with should MPI_Finalize not return; also returns it.
    int finish_with(int status) noexcept { return status_ = status; }

private:
    int status_ = 0;
};

MpiVersion mpi_version();

class MpiTransport {
public:
    MpiTransport();

    int rank() const noexcept { return rank_; }
    int ranks() const noexcept { return ranks_; }
    MpiVersion version() const { return mpi_version(); }

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
    void wait_all(std::int64_t slots) {
        require(MPI_Waitall(static_cast<int>(slots), requests_.data(), MPI_STATUSES_IGNORE),
                "MPI_Waitall");
    }
    void put(const std::byte* data, std::int64_t bytes, int peer, std::int64_t displacement) {
        require(MPI_Put(data, static_cast<int>(bytes), MPI_BYTE, peer,
                        static_cast<MPI_Aint>(displacement), static_cast<int>(bytes), MPI_BYTE,
                        window_),
                "MPI_Put");
    }
    void flush(int peer) { require(MPI_Win_flush(peer, window_), "MPI_Win_flush"); }

    void sync_window();
    void send_control(const void* data, std::int64_t bytes, int peer);
    void receive_control(void* data, std::int64_t bytes, int peer);

    void barrier();
    std::vector<std::string> gather(const std::string& text);
    void broadcast(std::string& text);
    void reserve(std::int64_t slots);
    // `locks`: this rank takes the shared lock at the target, until the window is closed.
    std::byte* open_window(std::int64_t bytes, int target, bool locks);
    void close_window();
    // Collective over all ranks; the first `members` are the company until it is closed.
    void open_company(int members);
    void close_company();
    // Among the company only; waits without load.
    void quiet_barrier();
    // Among the company only, at rank 0.
    std::vector<std::string> gather_in_company(const std::string& text);
    void release(int rank);
    void await_release(int from);

    // Ends every rank of the launch.
    [[noreturn]] static void abort(int status);

private:
    static constexpr int data_tag = 1;
    static constexpr int control_tag = 2;
    static constexpr int release_tag = 3;

    static MPI_Comm world() noexcept { return MPI_COMM_WORLD; }
    static void require(int code, const char* call) {
        if (code != MPI_SUCCESS) fail(code, call);
    }
    [[noreturn]] static void fail(int code, const char* call);
    static void wait_quietly(MPI_Request& request);
    std::vector<std::string> gather_in(MPI_Comm communicator, const std::string& text) const;

    int rank_ = 0;
    int ranks_ = 1;
    std::vector<MPI_Request> requests_;
    MPI_Win window_ = MPI_WIN_NULL;
    int locked_ = -1;
    MPI_Comm company_ = MPI_COMM_WORLD;
};

}  // namespace fabricgauge
