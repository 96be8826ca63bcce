#include "recorder.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "sites.hpp"

namespace fabricgauge {

Recorder recorder;

namespace {

// The quickest of several parts: others may have the processor in between.
constexpr int calls_to_time = 2'000, parts_to_time = 10;
constexpr unsigned bucket_none = 63;

// 0 for nothing, k for 2^(k-1) up to 2^k - 1.
unsigned bucket(std::uint64_t size) noexcept {
    if (size == no_size) return bucket_none;
    return size == 0 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(size));
}

// The highest bit tells a key from a cell that is free.
std::uint64_t key_of(const Observed& seen, std::uint8_t region) noexcept {
    return std::uint64_t{1} << 63 | std::uint64_t{region} << 48 | std::uint64_t{seen.call} << 40 |
           std::uint64_t{bucket(seen.size)} << 34 |
           std::uint64_t{static_cast<std::uint8_t>(seen.place)} << 32 | seen.ranks;
}

void copy(char* to, std::size_t room, const char* text) { std::snprintf(to, room, "%s", text); }

void read_name(char* to, std::size_t room) {
    char path[4096] = "";
    const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    const char* last = std::strrchr(path, '/');
    copy(to, room, last ? last + 1 : path);
}

}  // namespace

void Recorder::open(const char* folder, std::uint32_t rank, std::uint32_t size, bool threaded,
                    const std::string& names) {
    threaded_ = threaded;
    length_ = sizeof(ProfileHeader) + most_cells * sizeof(Cell) + most_sites * sizeof(Site) +
              size * sizeof(Peer) + names.size();
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    std::snprintf(file_, sizeof file_, "%s/%s.%d.rank", folder, host, static_cast<int>(getpid()));
    int file = *folder ? ::open(file_, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    // With room on the disk: without it the first write there would end the program.
    if (file >= 0 && posix_fallocate(file, 0, static_cast<off_t>(length_)) != 0) {
        ::close(file);
        unlink(file_);
        file = -1;
    }
    if (file < 0) file_[0] = '\0';
    const int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void* memory = mmap(nullptr, length_, PROT_READ | PROT_WRITE, flags, file, 0);
    if (file >= 0) ::close(file);
    if (memory == MAP_FAILED) return;
    auto* header = static_cast<ProfileHeader*>(memory);
    cells_ = reinterpret_cast<Cell*>(header + 1);
    sites_ = reinterpret_cast<Site*>(cells_ + most_cells);
    peers_ = reinterpret_cast<Peer*>(sites_ + most_sites);
    std::memcpy(header->format, magic, sizeof magic);
    header->rank = rank;
    header->size = size;
    header->cells = most_cells;
    header->sites = most_sites;
    header->peers = size;
    header->names_bytes = static_cast<std::uint32_t>(names.size());
    std::memcpy(static_cast<void*>(peers_ + size), names.data(), names.size());
    header->pid = static_cast<std::uint32_t>(getpid());
    timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    header->started_utc_ns = static_cast<std::int64_t>(at.tv_sec) * 1'000'000'000 + at.tv_nsec;
    copy(header->host, sizeof header->host, host);
    read_name(header->program, sizeof header->program);
    began_ns_ = now_ns();
    header_ = header;
}

void Recorder::close(bool kept_elsewhere) {
    if (!header_) return;
    if (kept_elsewhere && *file_) unlink(file_);
    header_ = nullptr;  // the mapping stays: a thread may still be adding
}

void Recorder::enter_region(int level) noexcept {
    paused_ = level == 0;
    if (level >= 2) region_ = static_cast<std::uint8_t>(std::min(level, 255));
    else if (level < 0) region_ = 0;
}

// One thread alone needs no locked operation, which would take longer than all the rest.
void Recorder::raise(std::atomic<std::uint64_t>& sum, std::uint64_t by) const noexcept {
    if (threaded_) sum.fetch_add(by, std::memory_order_relaxed);
    else sum.store(sum.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

// Open addressing: the key's row, or the next free one, which is empty. Null if no row is left.
template <class Row>
Row* Recorder::find_row(Row* rows, std::uint32_t count, std::uint64_t key) noexcept {
    const std::uint64_t first = key * 0x9e3779b97f4a7c15u >> 48;  // Knuth's multiplicative hashing
    for (std::uint32_t step = 0; step < count; ++step) {
        Row& row = rows[(first + step) & (count - 1)];
        std::uint64_t there = row.key.load(std::memory_order_relaxed);
        if (there == key) return &row;
        if (there == 0 && (row.key.compare_exchange_strong(there, key) || there == key)) return &row;
    }
    return nullptr;
}
static_assert((most_cells & (most_cells - 1)) == 0 && (most_sites & (most_sites - 1)) == 0);

void Recorder::add_to_site(const Observed& seen, std::uint64_t time_ns, const void* caller) noexcept {
    // The address within the call itself: that after it may belong to the next line or function.
    const std::uint64_t address = reinterpret_cast<std::uint64_t>(call_in_program(caller)) - 1;
    Site* site = find_row(sites_, most_sites, address << 8 | seen.call);
    if (!site) {
        raise(header_->without_site, 1);
        return;
    }
    if (site->calls.load(std::memory_order_relaxed) == 0) describe_site(*site, address);
    raise(site->calls, 1);
    raise(site->bytes, seen.bytes);
    raise(site->time_ns, time_ns);
}

void Recorder::add(const Observed& seen, std::int64_t began_ns, std::int64_t ended_ns,
                   const void* caller) noexcept {
    Cell* cell = find_row(cells_, most_cells, key_of(seen, region_));
    if (!cell) {
        raise(header_->lost, 1);
        return;
    }
    raise(cell->calls, 1);
    raise(cell->bytes, seen.bytes);
    const auto time_ns = static_cast<std::uint64_t>(ended_ns - began_ns);
    raise(cell->time_ns, time_ns);
    if (caller) add_to_site(seen, time_ns, caller);
    if (ended_ns != 0) header_->wall_ns.store(ended_ns - began_ns_, std::memory_order_relaxed);
    if (seen.peer < 0 || seen.peer >= header_->size) return;
    Peer& peer = peers_[seen.peer];
    peer.rank.store(static_cast<std::uint64_t>(seen.peer), std::memory_order_relaxed);
    raise(peer.messages, 1);
    raise(peer.bytes, seen.bytes);
}

std::uint64_t Recorder::overhead_ps() {
    alignas(64) static Cell scratch[most_cells];
    alignas(64) static Site scratch_sites[most_sites];
    ProfileHeader unused{};
    Recorder other;
    other.header_ = &unused;
    other.cells_ = scratch;
    other.sites_ = scratch_sites;
    other.threaded_ = threaded_;
    Observed seen;
    seen.size = 8;
    std::int64_t least_ns = INT64_MAX;
    for (int part = 0; part < parts_to_time; ++part) {
        const std::int64_t began = now_ns();
        for (int call = 0; call < calls_to_time; ++call) {
            const std::int64_t at = now_ns();
            other.add(seen, at, now_ns(), __builtin_return_address(0));
        }
        least_ns = std::min(least_ns, now_ns() - began);
    }
    return static_cast<std::uint64_t>(least_ns) * 1000 / calls_to_time;
}

}  // namespace fabricgauge
