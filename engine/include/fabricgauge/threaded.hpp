// Several pairs of threads between two ranks, each pair in a pattern of its own, all at once.
//
// The transport's `Channel channel(int number, std::int64_t slots)` is what one pair of threads exchanges
// messages through; it has what transport.hpp asks for ordinary messages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "fabricgauge/thread_pool.hpp"
#include "fabricgauge/messages.hpp"

namespace fabricgauge {

// The meaning of a sample. Each: the time of each pair's operation. Together: the time in which
// every pair makes one, from the last end of the previous one to the last end of this.
enum class Shared { each, together };

// The data of one rank's threads during a case.
template <typename Single>
struct Pairs {
    ThreadPool pool;
    std::vector<Single> singles;
};

template <typename Transport, template <typename> class Pattern, Shared shared>
struct Threaded {
    using Channel = typename Transport::Channel;
    using Single = Pattern<Channel>;

    static constexpr bool threaded = true;
    static constexpr bool each = shared == Shared::each;
    static constexpr std::int64_t one_way_trips = Single::one_way_trips;
    static constexpr bool origin_sends = Single::origin_sends;
    static constexpr bool target_sends = Single::target_sends;
    static constexpr bool target_fills = Single::target_fills;
    static constexpr Author reply_author = Single::reply_author;

    Transport& transport;
    int peer;
    Pairs<Single>& pairs;

    void open_as_origin() const {}
    void open_as_target() const {}
    void close() const {}
    void expose() const {}
    void collect() const {}

    void origin() const {
        pairs.pool.run([this](int member) { single(member).origin(); });
    }
    void target() const { target(1); }

    void target(std::int64_t operations) const {
        pairs.pool.run([this, operations](int member) {
            const Single mine = single(member);
            for (std::int64_t i = 0; i < operations; ++i) mine.target();
        });
    }

    // The readings of thread n begin at stamps + n * stride, one more than there are samples.
    template <typename Clock>
    void time(const Clock& clock, std::int64_t* stamps, std::int64_t stride, std::int64_t samples,
              std::int64_t batch) const {
        pairs.pool.run([&](int member) {
            const Single mine = single(member);
            std::int64_t* const own = stamps + member * stride;
            own[0] = clock.now_ns();
            for (std::int64_t i = 1; i <= samples; ++i) {
                for (std::int64_t repeat = 0; repeat < batch; ++repeat) mine.origin();
                own[i] = clock.now_ns();
            }
        });
        if constexpr (!each) join(stamps, stride, samples);
    }

private:
    const Single& single(int member) const {
        return pairs.singles[static_cast<std::size_t>(member)];
    }

    // Into the readings of the first: when the first thread began, then each sample's last end.
    void join(std::int64_t* stamps, std::int64_t stride, std::int64_t samples) const {
        for (int member = 1; member < pairs.pool.members(); ++member) {
            const std::int64_t* const own = stamps + member * stride;
            stamps[0] = std::min(stamps[0], own[0]);
            for (std::int64_t i = 1; i <= samples; ++i) stamps[i] = std::max(stamps[i], own[i]);
        }
    }
};

// Calls `action` with a pool at work between this rank and `peer`.
template <template <typename> class Pattern, Shared shared, typename Transport, typename Action>
void with_threads(Transport& transport, const Messages& messages, const Case& measured, int peer,
                  Action&& action) {
    using Running = Threaded<Transport, Pattern, shared>;
    std::vector<typename Running::Channel> channels;
    for (int thread = 0; thread < measured.threads; ++thread)
        channels.push_back(transport.channel(thread, window_slots(measured)));
    Pairs<typename Running::Single> pairs{ThreadPool(measured.threads), {}};
    for (int thread = 0; thread < measured.threads; ++thread)
        pairs.singles.push_back({{channels[static_cast<std::size_t>(thread)], messages.slots(thread),
                                  measured.message_bytes, window_slots(measured), peer}});
    if (const DeviceMemory* const device = messages.memory().device())
        pairs.pool.run([device](int) { device->enter(); });
    action(Running{transport, peer, pairs});
}

}  // namespace fabricgauge
