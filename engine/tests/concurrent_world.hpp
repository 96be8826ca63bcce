// A message layer inside one process, for a thread per rank. Each rank has a clock of its own, which
// moves only with what that rank does: a data message costs its sender and its receiver what the
// test says, so that figures are known beforehand.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

namespace concurrent_world {

using Bytes = std::vector<std::byte>;

enum class Kind { data, control, release, load, text };

// What all ranks share.
class World {
public:
    explicit World(int ranks)
        : now_ns(static_cast<std::size_t>(ranks)),
          sent_bytes(static_cast<std::size_t>(ranks)), load_bytes(static_cast<std::size_t>(ranks)) {}

    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::tuple<int, int, Kind>, std::deque<Bytes>> boxes;
    std::vector<std::int64_t> now_ns;  // each used by its own rank alone
    std::vector<std::int64_t> sent_bytes;
    std::vector<std::int64_t> load_bytes;
    std::function<std::int64_t(int)> cost_ns = [](int) { return 10'000; };
    std::function<void(int, int, Bytes&)> damage = [](int, int, Bytes&) {};

    int ranks() const { return static_cast<int>(now_ns.size()); }

    void put(int from, int to, Kind kind, Bytes message) {
        const std::lock_guard lock(mutex);
        boxes[{from, to, kind}].push_back(std::move(message));
        changed.notify_all();
    }
    Bytes take(int from, int to, Kind kind) {
        std::unique_lock lock(mutex);
        auto& box = boxes[{from, to, kind}];
        changed.wait(lock, [&] { return !box.empty(); });
        Bytes message = std::move(box.front());
        box.pop_front();
        return message;
    }
    // Messages that nobody has received.
    std::size_t left_over() {
        std::size_t left = 0;
        for (const auto& [key, box] : boxes) left += box.size();
        return left;
    }
};

struct Clock {
    World& world;
    int rank;
    std::int64_t now_ns() const { return world.now_ns[static_cast<std::size_t>(rank)]; }
};

// The measuring ranks; messages of kind text between them.
class Group {
public:
    Group(World& world, int rank, std::vector<int> members)
        : world_(world), rank_(rank), members_(std::move(members)) {}

    int ranks() const { return static_cast<int>(members_.size()); }
    void close() {}
    void tell(void* data, std::int64_t bytes) {
        const auto* begin = static_cast<const std::byte*>(data);
        if (rank_ != 0) return copy(world_.take(0, rank_, Kind::text), data);
        for (const int member : members_)
            if (member != 0) world_.put(0, member, Kind::text, Bytes(begin, begin + bytes));
    }
    void gather(const std::int64_t* own, std::int64_t count, std::int64_t* all) {
        const auto* begin = reinterpret_cast<const std::byte*>(own);
        const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof *own);
        world_.put(rank_, 0, Kind::text, Bytes(begin, begin + bytes));
        if (rank_ != 0) return;
        for (const int member : members_) {
            copy(world_.take(member, 0, Kind::text), all);
            all += count;
        }
    }
    void barrier() {
        std::int64_t nothing = 0;
        std::vector<std::int64_t> all(members_.size());
        gather(&nothing, 1, all.data());
        tell(&nothing, sizeof nothing);
    }
    // Passed when it is asked for the second time, so that every rank goes on once.
    void enter_barrier() { asked_ = 0; }
    bool barrier_passed() {
        if (++asked_ < 2) return false;
        barrier();
        return true;
    }

private:
    static void copy(const Bytes& from, void* to) {
        if (!from.empty()) std::memcpy(to, from.data(), from.size());
    }

    World& world_;
    int rank_;
    std::vector<int> members_;
    int asked_ = 0;
};

}  // namespace concurrent_world
