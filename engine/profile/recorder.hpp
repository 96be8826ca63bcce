// Adds calls to the memory of this rank; no call waits for another and none allocates.
#pragma once

#include <ctime>

#include <cstdint>
#include <string>

#include "layout.hpp"

namespace fabricgauge {

enum class Place : std::uint8_t { unknown, same_node, other_node };

constexpr std::uint64_t no_size = ~std::uint64_t{0};
constexpr std::int64_t no_peer = -1;

// One call as its arguments tell it. `bytes` is what the rank moves, `size` one message's.
struct Observed {
    std::uint8_t call = 0;
    Place place = Place::unknown;
    std::uint32_t ranks = 0;
    std::uint64_t size = no_size, bytes = 0;
    std::int64_t peer = no_peer;  // rank of MPI_COMM_WORLD to which the bytes go
};

inline std::int64_t now_ns() noexcept {
    timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return static_cast<std::int64_t>(at.tv_sec) * 1'000'000'000 + at.tv_nsec;
}

class Recorder {
public:
    // Memory for `size` ranks and the calls' `names`: a new file in `folder`, or memory alone where there can be none.
    void open(const char* folder, std::uint32_t rank, std::uint32_t size, bool threaded,
              const std::string& names);
    // The program's time ends here.
    void end() noexcept { header_->wall_ns.store(now_ns() - began_ns_, std::memory_order_relaxed); }
    // Ends the recording; the file is removed where others have what it holds.
    void close(bool kept_elsewhere);

    // `caller` is the address after the call in the program; null if the call has no place of its own.
    void add(const Observed& seen, std::int64_t began_ns, std::int64_t ended_ns,
             const void* caller) noexcept;
    // What the adding of one call takes here and now, clock included.
    std::uint64_t overhead_ps();

    // Whether there is anything to record into; paused or not.
    bool is_open() const noexcept { return header_ != nullptr; }
    bool is_on() const noexcept { return header_ != nullptr && !paused_.load(std::memory_order_relaxed); }
    void enter_region(int level) noexcept;

    ProfileHeader& header() noexcept { return *header_; }
    const Cell* cells() const noexcept { return cells_; }
    const Site* sites() const noexcept { return sites_; }
    const Peer* peers() const noexcept { return peers_; }

private:
    template <class Row>
    Row* find_row(Row* rows, std::uint32_t count, std::uint64_t key) noexcept;
    void add_to_site(const Observed& seen, std::uint64_t time_ns, const void* caller) noexcept;
    void raise(std::atomic<std::uint64_t>& sum, std::uint64_t by) const noexcept;

    ProfileHeader* header_ = nullptr;
    Cell* cells_ = nullptr;
    Site* sites_ = nullptr;
    Peer* peers_ = nullptr;
    std::size_t length_ = 0;
    std::int64_t began_ns_ = 0;
    bool threaded_ = true;
    std::atomic<bool> paused_{false};
    std::atomic<std::uint8_t> region_{0};
    char file_[512] = "";
};

extern Recorder recorder;

// The names of all recorded calls with their kinds, a line each, as a profile has them.
std::string call_names();

}  // namespace fabricgauge
