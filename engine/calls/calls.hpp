// Kinds of calls that can be traced. Each layer has a table of them: MPI, libfabric, verbs.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fabricgauge/options.hpp"
#include "fabricgauge/pin.hpp"
#include "mark.hpp"

namespace fabricgauge::path {

enum Tag : int { data_tag = 1, go_tag, done_tag };

// What a call is made with, on one rank: `count` bytes from `out` or to `in`, which are halves of
// `memory`.
struct Call {
    Call(std::size_t largest, int own_rank, int all_ranks)
        : memory(2 * largest, std::byte{1}), out(memory.data()), in(out + largest),
          rank(own_rank), ranks(all_ranks) {}

    std::vector<std::byte> memory;
    std::byte* out;
    std::byte* in;
    int count = 0;
    int rank;
    int ranks;
};

using Step = std::function<void(Call&)>;

// What rank 0 does before the marks, between them, after them; what its partners do.
struct Operation {
    std::string name;
    std::array<const void*, most_functions> functions;
    Step prepare, traced, finish, partner;
};

struct Layer {
    std::vector<Operation> operations;
    std::string description;  // of what carries the messages; MPI tells it by itself
};

// Collective, and to be gone before MPI_Finalize. `name` is the operation that is meant.
Layer mpi_layer(Call& call, const std::string& name);
// Of two ranks, whose libraries are opened here. Throw what load_ofi, OfiDomain, load_verbs,
// VerbsDevice do.
Layer ofi_layer(Call& call, const OfiOptions& options, const LocalAddress& own);
Layer verbs_layer(Call& call, const VerbsOptions& options);

template <typename Made>
const void* address(Made* function) {
    return reinterpret_cast<const void*>(function);
}

void tell(int rank, int tag);
void hear(int rank, int tag);
// Waits until what was sent or told has arrived (loopback and labs: well below 1 ms).
void wait_for_arrival();
void nothing(Call&);
void go_and_wait(Call&);

// The other of two ranks' value for one's own.
template <typename Value>
Value swapped(const Call& call, const Value& own) {
    Value other;
    MPI_Sendrecv(&own, sizeof own, MPI_BYTE, 1 - call.rank, data_tag, &other, sizeof other, MPI_BYTE,
                 1 - call.rank, data_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return other;
}

}  // namespace fabricgauge::path
