// fabricgauge-path-calls OPERATION SIZES WARM-UP CALLS
//
// Makes one kind of MPI call on rank 0, with others as its partners: once cold, then WARM-UP times
// unwatched, then CALLS times. Each call begins once all that it needs has arrived, so that what
// is traced is MPI's own path: the partners are done, then rank 0 waits.
#include <mpi.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "mark.hpp"

namespace {

using namespace fabricgauge::path;

// What was sent has arrived after that time (loopback and labs: well below 1 ms).
constexpr useconds_t arrival_us = 20'000;

enum Tag : int { data_tag = 1, go_tag, done_tag };

struct Call {
    std::vector<char> out, in;
    int count;
    int rank, ranks;
    MPI_Win window;
    MPI_Request request;
};

template <typename Made>
const void* address(Made* function) {
    return reinterpret_cast<const void*>(function);
}

void tell(int rank, int tag) { MPI_Send(nullptr, 0, MPI_BYTE, rank, tag, MPI_COMM_WORLD); }

void hear(int rank, int tag) {
    MPI_Recv(nullptr, 0, MPI_BYTE, rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void receive(Call& call, int from) {
    MPI_Recv(call.in.data(), call.count, MPI_BYTE, from, data_tag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

void send(Call& call, int to) {
    MPI_Send(call.out.data(), call.count, MPI_BYTE, to, data_tag, MPI_COMM_WORLD);
}

// What rank 0 does before the marks, between them, after them; what its partners do.
struct Operation {
    const char* name;
    const void* functions[most_functions];
    void (*prepare)(Call&);
    void (*traced)(Call&);
    void (*finish)(Call&);
    void (*partner)(Call&);
};

void nothing(Call&) {}
void go(Call&) { tell(1, go_tag); }
void go_and_wait(Call&) {
    tell(1, go_tag);
    usleep(arrival_us);
}
void wait_for_others(Call&) { usleep(arrival_us); }
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
    usleep(arrival_us);
    send(call, 0);
}
// Rank 0's calls on the window need no more of it than that it is within MPI.
void be_a_target(Call&) {
    hear(0, go_tag);
    tell(0, done_tag);
}
void end_of_access(Call&) {
    tell(1, go_tag);
    hear(1, done_tag);
}
void broadcast(Call& call) {
    MPI_Bcast(call.out.data(), call.count, MPI_BYTE, 0, MPI_COMM_WORLD);
}
void reduce(Call& call) {
    MPI_Allreduce(call.out.data(), call.in.data(), call.count, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
}
void barrier(Call&) { MPI_Barrier(MPI_COMM_WORLD); }
void broadcast_heard(Call& call) {
    broadcast(call);
    tell(0, done_tag);
}
void all_heard(Call& call) {
    for (int rank = 1; rank < call.ranks; ++rank) hear(rank, done_tag);
}

const Operation operations[] = {
    {"send", {address(&MPI_Send), nullptr}, nothing, [](Call& c) { send(c, 1); }, done,
     answer_send},
    {"recv", {address(&MPI_Recv), nullptr}, go_and_wait, [](Call& c) { receive(c, 1); }, nothing,
     send_when_told},
    {"recv-late", {address(&MPI_Recv), nullptr}, go, [](Call& c) { receive(c, 1); }, nothing,
     send_late},
    {"isend", {address(&MPI_Isend), address(&MPI_Wait)}, nothing,
     [](Call& c) {
         MPI_Isend(c.out.data(), c.count, MPI_BYTE, 1, data_tag, MPI_COMM_WORLD, &c.request);
         MPI_Wait(&c.request, MPI_STATUS_IGNORE);
     },
     done, answer_send},
    {"irecv", {address(&MPI_Irecv), nullptr}, nothing,
     [](Call& c) {
         MPI_Irecv(c.in.data(), c.count, MPI_BYTE, 1, data_tag, MPI_COMM_WORLD, &c.request);
     },
     [](Call& c) {
         tell(1, go_tag);
         MPI_Wait(&c.request, MPI_STATUS_IGNORE);
     },
     send_when_told},
    {"put", {address(&MPI_Put), address(&MPI_Win_flush)}, nothing,
     [](Call& c) {
         MPI_Put(c.out.data(), c.count, MPI_BYTE, 1, 0, c.count, MPI_BYTE, c.window);
         MPI_Win_flush(1, c.window);
     },
     end_of_access, be_a_target},
    {"get", {address(&MPI_Get), address(&MPI_Win_flush)}, nothing,
     [](Call& c) {
         MPI_Get(c.out.data(), c.count, MPI_BYTE, 1, 0, c.count, MPI_BYTE, c.window);
         MPI_Win_flush(1, c.window);
     },
     end_of_access, be_a_target},
    {"bcast", {address(&MPI_Bcast), nullptr}, nothing, broadcast, all_heard, broadcast_heard},
    {"allreduce", {address(&MPI_Allreduce), nullptr}, wait_for_others, reduce, nothing, reduce},
    {"barrier", {address(&MPI_Barrier), nullptr}, wait_for_others, barrier, nothing, barrier},
};

const Operation& named(const std::string& name) {
    for (const Operation& one : operations)
        if (name == one.name) return one;
    throw std::invalid_argument("no operation " + name);
}

std::vector<int> sizes_of(const std::string& text) {
    std::vector<int> sizes;
    for (std::size_t at = 0; at < text.size(); at = text.find(',', at) + 1) {
        sizes.push_back(std::stoi(text.substr(at)));
        if (text.find(',', at) == std::string::npos) break;
    }
    return sizes;
}

void make(const Operation& operation, Call& call, Mark* marked) {
    if (call.rank != 0) return operation.partner(call);
    operation.prepare(call);
    if (marked != nullptr) mark(marked);
    operation.traced(call);
    if (marked != nullptr) mark(nullptr);
    operation.finish(call);
}

bool is_traced(const Call& call) {
    return call.rank == 0 && std::getenv(traced_variable) != nullptr;
}

// `number` goes on over all sizes: only the first call of all is cold.
void make_all(const Operation& operation, Call& call, int warm_up, int calls,
              std::int64_t& number) {
    Mark described{{}, call.count, 0, {operation.functions[0], operation.functions[1]}};
    std::strncpy(described.operation, operation.name, sizeof described.operation - 1);
    const bool traced = is_traced(call);
    const int cold = number == 0 ? 1 : 0;
    for (int i = 0; i < cold + warm_up + calls; ++i) {
        const bool unwatched = i >= cold && i < cold + warm_up;
        described.number = number;
        make(operation, call, traced && !unwatched ? &described : nullptr);
        if (!unwatched) ++number;
    }
}

void run(const Operation& operation, const std::vector<int>& sizes, int warm_up, int calls) {
    Call call{};
    MPI_Comm_rank(MPI_COMM_WORLD, &call.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &call.ranks);
    if (call.ranks < 2) throw std::invalid_argument("a call needs two ranks at least");
    std::size_t largest = 1;
    for (const int size : sizes) largest = size > static_cast<int>(largest) ? size : largest;
    call.out.assign(largest, 1);
    call.in.assign(largest, 0);
    const bool one_sided = operation.functions[1] == address(&MPI_Win_flush);
    void* memory = nullptr;
    if (one_sided) {
        MPI_Win_allocate(static_cast<MPI_Aint>(largest), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                         &call.window);
        MPI_Win_lock_all(0, call.window);
    }
    std::int64_t number = 0;
    for (const int size : sizes) {
        call.count = size;
        MPI_Barrier(MPI_COMM_WORLD);
        make_all(operation, call, warm_up, calls, number);
    }
    const Mark last{{}, 0, finished, {nullptr, nullptr}};
    if (is_traced(call)) mark(&last);
    if (one_sided) {
        MPI_Win_unlock_all(call.window);
        MPI_Win_free(&call.window);
    }
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int status = 0;
    try {
        const std::vector<std::string> words(argv + 1, argv + argc);
        run(named(words.at(0)), sizes_of(words.at(1)), std::stoi(words.at(2)),
            std::stoi(words.at(3)));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "fabricgauge-path: %s\n", error.what());
        status = 64;
        MPI_Abort(MPI_COMM_WORLD, status);
    }
    MPI_Finalize();
    return status;
}
