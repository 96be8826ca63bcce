#include <memory>

#include "calls.hpp"

namespace fabricgauge::path {

namespace {

void receive(Call& call, int from) {
    MPI_Recv(call.in, call.count, MPI_BYTE, from, data_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void send(Call& call, int to) {
    MPI_Send(call.out, call.count, MPI_BYTE, to, data_tag, MPI_COMM_WORLD);
}

void go(Call&) { tell(1, go_tag); }
void done(Call&) { hear(1, done_tag); }

void answer_send(Call& call) {
    receive(call, 0);
    tell(0, done_tag);
}
void send_when_told(Call& call) {
    hear(0, go_tag);
    send(call, 0);
}
void send_late(Call& call) {
    hear(0, go_tag);
    wait_for_arrival();
    send(call, 0);
}
// All that a target of rank 0's calls on the window needs is to be within MPI.
void end_when_told(Call&) {
    hear(0, go_tag);
    tell(0, done_tag);
}
void broadcast(Call& call) { MPI_Bcast(call.out, call.count, MPI_BYTE, 0, MPI_COMM_WORLD); }
void reduce(Call& call) {
    MPI_Allreduce(call.out, call.in, call.count, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
}
void barrier(Call&) { MPI_Barrier(MPI_COMM_WORLD); }
// In a joint call the others begin when they are told, and are silent afterwards until they are
// asked: what they sent for the next one would be found in this one, which is slow while traced.
void all_end(Call& call) {
    for (int rank = 1; rank < call.ranks; ++rank) {
        tell(rank, go_tag);
        hear(rank, done_tag);
    }
}
void reduce_when_told(Call& call) {
    hear(0, go_tag);
    reduce(call);
}
void barrier_when_told(Call& call) {
    hear(0, go_tag);
    barrier(call);
}
void broadcast_and_end(Call& call) {
    broadcast(call);
    end_when_told(call);
}

class Window {
public:
    explicit Window(const Call& call) {
        void* memory = nullptr;
        MPI_Win_allocate(static_cast<MPI_Aint>(call.memory.size()), 1, MPI_INFO_NULL,
                         MPI_COMM_WORLD, &memory, &window_);
        MPI_Win_lock_all(0, window_);
    }
    ~Window() {
        MPI_Win_unlock_all(window_);
        MPI_Win_free(&window_);
    }
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    void put(const Call& call) const {
        MPI_Put(call.out, call.count, MPI_BYTE, 1, 0, call.count, MPI_BYTE, window_);
        MPI_Win_flush(1, window_);
    }
    void get(const Call& call) const {
        MPI_Get(call.in, call.count, MPI_BYTE, 1, 0, call.count, MPI_BYTE, window_);
        MPI_Win_flush(1, window_);
    }

private:
    MPI_Win window_ = MPI_WIN_NULL;
};

}  // namespace

Layer mpi_layer(Call& call, const std::string& name) {
    // Where there is a window, some MPIs look after it in every call.
    std::shared_ptr<Window> window;
    if (name == "put" || name == "get") window = std::make_shared<Window>(call);
    const auto request = std::make_shared<MPI_Request>(MPI_REQUEST_NULL);
    return {{
        {"send", {address(&MPI_Send)}, nothing, [](Call& c) { send(c, 1); }, done, answer_send},
        {"recv", {address(&MPI_Recv)}, go_and_wait, [](Call& c) { receive(c, 1); }, nothing,
         send_when_told},
        {"recv-late", {address(&MPI_Recv)}, go, [](Call& c) { receive(c, 1); }, nothing, send_late},
        {"isend", {address(&MPI_Isend), address(&MPI_Wait)}, nothing,
         [request](Call& c) {
             MPI_Isend(c.out, c.count, MPI_BYTE, 1, data_tag, MPI_COMM_WORLD, request.get());
             MPI_Wait(request.get(), MPI_STATUS_IGNORE);
         },
         done, answer_send},
        {"irecv", {address(&MPI_Irecv)}, nothing,
         [request](Call& c) {
             MPI_Irecv(c.in, c.count, MPI_BYTE, 1, data_tag, MPI_COMM_WORLD, request.get());
         },
         [request](Call& c) {
             go(c);
             MPI_Wait(request.get(), MPI_STATUS_IGNORE);
         },
         send_when_told},
        {"put", {address(&MPI_Put), address(&MPI_Win_flush)}, nothing,
         [window](Call& c) { window->put(c); }, all_end, end_when_told},
        {"get", {address(&MPI_Get), address(&MPI_Win_flush)}, nothing,
         [window](Call& c) { window->get(c); }, all_end, end_when_told},
        {"bcast", {address(&MPI_Bcast)}, nothing, broadcast, all_end, broadcast_and_end},
        {"allreduce", {address(&MPI_Allreduce)}, go_and_wait, reduce, nothing, reduce_when_told},
        {"barrier", {address(&MPI_Barrier)}, go_and_wait, barrier, nothing, barrier_when_told},
    }, ""};
}

}  // namespace fabricgauge::path
