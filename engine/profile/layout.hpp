// What a rank records, as it lies in memory and in files: docs/development/profile-format.md.
//
// A rank's memory is a shared mapping of a file, so that the kernel keeps it however the rank ends.
#pragma once

#include <atomic>
#include <cstdint>

namespace fabricgauge {

constexpr char magic[8] = {'F', 'G', 'P', 'R', 'O', 'F', '2', '\n'};

// More kinds of calls × sizes × communicators than any program seen has by a factor of ten.
constexpr std::uint32_t most_cells = 4096;

// OpenRadioss has some 400 places that call MPI.
constexpr std::uint32_t most_sites = 2048;

struct ProfileHeader {
    char format[8];
    std::uint32_t rank, size;
    std::uint32_t node;  // the least rank of MPI_COMM_WORLD on the same node
    std::uint32_t finalized;
    std::uint32_t cells, peers, names_bytes;  // what follows
    std::uint32_t pid;
    std::int64_t started_utc_ns;
    std::atomic<std::int64_t> wall_ns;
    std::uint64_t overhead_ps;  // of one recorded call
    std::atomic<std::uint64_t> lost;  // calls for which no cell was left
    std::uint32_t sites, reserved;
    std::atomic<std::uint64_t> without_site;  // calls for which no site was left
    char host[64], library[96], program[96];
};

// A call, a power of two of its size, where the other side is, how many ranks, in which region.
struct Cell {
    std::atomic<std::uint64_t> key, calls, bytes, time_ns;
};

// A place in the program that calls MPI: its key is the address in memory and the call. `address` is
// that in the object's file, within the calling instruction; `function` ends in the offset from its start.
struct Site {
    std::atomic<std::uint64_t> key, calls, bytes, time_ns;
    std::uint64_t address;
    char object[128], function[120];
};

// By rank of MPI_COMM_WORLD: what this rank sent it. In a file of all ranks only those with any.
struct Peer {
    std::atomic<std::uint64_t> rank, messages, bytes;
};

static_assert(sizeof(ProfileHeader) == 8 + 8 * 4 + 2 * 8 + 2 * 8 + 2 * 4 + 8 + 256);
static_assert(sizeof(Cell) == 32 && sizeof(Site) == 288 && sizeof(Peer) == 24);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace fabricgauge
