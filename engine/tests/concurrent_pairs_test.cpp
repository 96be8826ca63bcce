#include "fabricgauge/concurrent_pairs.hpp"

#include <thread>

#include "check.hpp"
#include "concurrent_transport.hpp"
#include "fabricgauge/times.hpp"

using namespace fabricgauge;
using concurrent_world::World;

namespace {

constexpr Precision usual{0.01, 0.95, 0, 20e-9, false};
constexpr Precision checking{0.01, 0.95, 0, 20e-9, true};

Case with(Pattern pattern, Load load = Load::none, int pairs = 0) {
    Case made{"a", pattern, 1003, has_window(pattern) ? 4 : 1, 0, 1, 0.004};
    made.load = load;
    made.pairs = pairs;
    return made;
}

// Every rank on a node of its own, or `per_node` of them on each.
std::vector<TogetherResult> measure(World& world, const Case& measured, const Precision& precision,
                                    int per_node = 1) {
    const int ranks = world.ranks();
    std::vector<int> nodes(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) nodes[static_cast<std::size_t>(rank)] = rank / per_node;
    std::vector<TogetherResult> results(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    const auto measures = [&](int rank) {
        return concurrent_role(measured, ranks, rank).part == ConcurrentPart::origin;
    };
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
            concurrent_world::Transport transport(world, rank, measures);
            const Communicator communicator{rank, ranks, nodes};
            measure_concurrent_pairs(transport, concurrent_world::Clock{world, rank}, measured,
                                     precision, communicator,
                                     results[static_cast<std::size_t>(rank)]);
        });
    for (std::thread& thread : threads) thread.join();
    return results;
}

// The waits of this thread's rank.
thread_local Waits planted;
constexpr Precision reading{
    0.01, 0.95, 0, 20e-9, false, false, [] { return planted; }, longest_extension_s};

// Each message of the ranks that wait takes 14 ms for that long of their own time, then 10 us.
void plant_waits(World& world, double waiting_s, std::function<bool(int)> waits) {
    world.cost_ns = [&world, waiting_s, waits](int rank) -> std::int64_t {
        const double now_s = static_cast<double>(world.now_ns[static_cast<std::size_t>(rank)]) * 1e-9;
        if (!waits(rank) || now_s >= waiting_s) return 10'000;
        planted = planted + Waits{1, 14'000'000};
        return 14'000'000;
    };
}

bool is_any(int) { return true; }

Case short_messages(Pattern pattern, double budget_s) {
    Case measured = with(pattern);
    measured.message_bytes = 8;
    measured.budget_s = budget_s;
    return measured;
}

constexpr Pattern every_pattern[] = {Pattern::multi_latency, Pattern::multi_bandwidth,
                                     Pattern::sendrecv, Pattern::exchange, Pattern::bisection,
                                     Pattern::loaded_latency};
constexpr Load every_load[] = {Load::all_to_all, Load::incast, Load::permutation};

}  // namespace

int main() {
    check::test("every pattern ends on 2, 3, 4 and 8 ranks and leaves no message behind", [] {
        for (const Pattern pattern : every_pattern)
            for (const int ranks : {2, 3, 4, 8}) {
                World world(ranks);
                const TogetherResult first = measure(world, with(pattern), usual).front();
                check::expect(first.recorder.samples() > 0);
                check::expect(first.stop != Stop::none);
                check::expect_equal(first.together.ranks, ranks);
                check::expect_equal(first.together.rank_medians_s.size(),
                                    static_cast<std::size_t>(measuring_pairs(with(pattern), ranks)));
                check::expect_equal(world.left_over(), 0U);
            }
    });
    check::test("every load ends on every number of ranks that it can be made with", [] {
        for (const Load load : every_load)
            for (const int ranks : {3, 4, 5, 7, 8})
                for (const int pairs : {1, 2, 3}) {
                    const Case measured = with(Pattern::loaded_latency, load, pairs);
                    if (!missing_for_concurrent_pairs(measured, ranks).empty()) continue;
                    World world(ranks);
                    const TogetherResult first = measure(world, measured, usual).front();
                    check::expect(first.recorder.samples() > 0);
                    check::expect(first.together.load_bytes_per_s > 0.0);
                    check::expect_equal(world.left_over(), 0U);
                    for (const int rank : loading_ranks(measured, ranks))
                        check::expect(world.load_bytes[static_cast<std::size_t>(rank)] >=
                                      load_message_bytes);
                }
    });
    check::test("half a round trip is one message's way at either end", [] {
        World world(4);
        world.cost_ns = [](int) { return 10'000; };
        const TogetherResult first = measure(world, with(Pattern::multi_latency), usual).front();
        check::expect_near(times_of(first.recorder, 0.95).median_s, 10e-6, 1e-12);
    });
    check::test("a slow pair is seen in its own median", [] {
        World world(6);
        world.cost_ns = [](int rank) { return rank == 1 ? 50'000 : 10'000; };
        const Together found = measure(world, with(Pattern::multi_latency), usual).front().together;
        check::expect_near(found.rank_medians_s.at(0), 10e-6, 1e-12);
        check::expect_near(found.rank_medians_s.at(1), 50e-6, 1e-12);
        check::expect_near(found.rank_medians_s.at(2), 10e-6, 1e-12);
    });
    check::test("the message rate is the sum over pairs, of both directions in a bisection", [] {
        World world(4);
        world.cost_ns = [](int) { return 10'000; };
        const Together one_way =
            measure(world, with(Pattern::multi_bandwidth), usual).front().together;
        check::expect_near(one_way.messages_per_s, 2 * 4 / 50e-6, 1.0);  // and the acknowledgement
        World other(4);
        other.cost_ns = world.cost_ns;
        const Together both = measure(other, with(Pattern::bisection), usual).front().together;
        check::expect_near(both.messages_per_s, 2 * 8 / 90e-6, 1.0);
    });
    check::test("the payload that is reported is what went to other nodes", [] {
        for (const Pattern pattern : every_pattern) {
            World world(4);
            const auto results = measure(world, with(pattern), usual);
            for (std::size_t rank = 0; rank < 4; ++rank)
                check::expect_equal(results[rank].payload_bytes, world.sent_bytes[rank]);
            World alone(4);
            for (const TogetherResult& result : measure(alone, with(pattern), usual, 4))
                check::expect_equal(result.payload_bytes, 0);
        }
    });
    check::test("of a ring with two ranks a node only every second message leaves it", [] {
        World world(4);
        const auto results = measure(world, with(Pattern::sendrecv), usual, 2);
        check::expect_equal(results[0].payload_bytes, 0);
        check::expect_equal(results[1].payload_bytes, world.sent_bytes[1]);
    });
    check::test("intact data pass the check in every pattern", [] {
        for (const Pattern pattern : every_pattern)
            for (const int ranks : {2, 3, 4}) {
                World world(ranks);
                for (const TogetherResult& result : measure(world, with(pattern), checking))
                    check::expect_equal(result.mismatch.found, 0);
            }
    });
    check::test("a corrupt byte is reported with its offset in every pattern", [] {
        for (const Pattern pattern : every_pattern) {
            World world(4);
            world.damage = [](int, int to, concurrent_world::Bytes& message) {
                if (to == 3 && message.size() > 777) message[777] ^= std::byte{0x10};
            };
            std::int64_t found = 0;
            for (const TogetherResult& result : measure(world, with(pattern), checking)) {
                if (result.mismatch.found == 0) continue;
                ++found;
                check::expect_equal(result.mismatch.offset, 777);
                check::expect_equal(result.mismatch.rank, 3);
            }
            check::expect(found > 0);
        }
    });
    check::test("a neighbour's message in the other's place is found", [] {
        World world(3);
        world.damage = [](int from, int, concurrent_world::Bytes& message) {
            if (from == 1 && !message.empty())
                fill_pattern(message.data(), message.size(), pattern_seed(Author::origin, 0, 0));
        };
        const auto results = measure(world, with(Pattern::sendrecv), checking);
        check::expect_equal(results[2].mismatch.found, 1);
        check::expect_equal(results[0].mismatch.found, 0);
    });
    check::test("the samples under a load are of one operation each", [] {
        World world(5);
        world.cost_ns = [](int) { return 100; };
        Case loaded = with(Pattern::loaded_latency, Load::permutation);
        loaded.budget_s = 1e-4;
        check::expect_equal(measure(world, loaded, usual).front().batch, 1);
        World idle(5);
        idle.cost_ns = [](int) { return 100; };
        Case many = with(Pattern::multi_latency);
        many.budget_s = 1e-4;
        check::expect_equal(measure(idle, many, usual).front().batch, 10);
    });
    check::test("pairs and rings that wait beyond the budget are waited for, then measured", [] {
        for (const Pattern pattern : {Pattern::multi_latency, Pattern::bisection, Pattern::sendrecv})
            for (const double waiting_s : {0.35, 0.9}) {
                World world(4);
                plant_waits(world, waiting_s, is_any);
                const auto results = measure(world, short_messages(pattern, 0.3), reading);
                const TogetherResult& first = results.front();
                check::expect(times_of(first.recorder, 0.95).maximum_s < 1e-3);
                check::expect(first.recorder.samples() > 100);
                check::expect(!first.waiting);
                check::expect(first.wall_s < 1.6);
                for (const double median_s : first.together.rank_medians_s)
                    check::expect(median_s > 0.0 && median_s < 1e-3);
                for (std::size_t rank = 0; rank < 4; ++rank)
                    check::expect_equal(results[rank].payload_bytes, world.sent_bytes[rank]);
                check::expect_equal(world.left_over(), 0U);
            }
    });
    check::test("those that wait for ever end bounded, with samples and marked", [] {
        for (const Pattern pattern : {Pattern::multi_latency, Pattern::exchange}) {
            World world(4);
            plant_waits(world, 1e9, is_any);
            const TogetherResult first = measure(world, short_messages(pattern, 0.3), reading).front();
            check::expect(first.stop == Stop::budget);
            check::expect(first.waiting);
            check::expect(first.recorder.samples() > 0);
            check::expect(first.wall_s > 0.3);
            check::expect(first.wall_s < 2.0);
        }
    });
    check::test("short waits of sixteen ranks leave a ring alone, long ones of one do not", [] {
        const Case measured = short_messages(Pattern::sendrecv, 0.3);
        for (const std::int64_t last_ns : {40'000, 900'000}) {
            World world(16);
            world.cost_ns = [last_ns](int rank) -> std::int64_t {
                planted = planted + Waits{1, rank == 15 ? last_ns : 40'000};
                return 1'000'000;
            };
            const TogetherResult first = measure(world, measured, reading).front();
            check::expect_equal(first.waiting, last_ns == 900'000);
        }
    });
    check::test("a slow network is not waited for, nor is one pair of four", [] {
        World slow(4);
        slow.cost_ns = [](int) { return 14'000'000; };
        const Case measured = short_messages(Pattern::multi_latency, 0.3);
        const TogetherResult sound = measure(slow, measured, reading).front();
        check::expect(!sound.waiting);
        check::expect(sound.wall_s < 0.4);
        World world(8);
        plant_waits(world, 1e9, [](int rank) { return rank % 4 == 1; });
        const TogetherResult first = measure(world, measured, reading).front();
        check::expect(!first.waiting);
        check::expect_near(times_of(first.recorder, 0.95).median_s, 10e-6, 1e-12);
        check::expect_near(first.together.rank_medians_s.at(1), 14e-3, 1e-9);
    });
    check::test("memory counts what a load needs, and the sink's most of all", [] {
        const auto needed = [](Load load) {
            return concurrent_memory_bytes(with(Pattern::loaded_latency, load), 32, false);
        };
        check::expect(needed(Load::none) < load_message_bytes * 3);
        check::expect(needed(Load::permutation) > needed(Load::none) + 2 * load_message_bytes);
        check::expect(needed(Load::incast) > needed(Load::permutation));
        check::expect(needed(Load::incast) < 20 * load_message_bytes);
    });
    return check::outcome();
}
