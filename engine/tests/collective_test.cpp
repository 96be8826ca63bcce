#include "fabricgauge/collective.hpp"

#include <cmath>
#include <mutex>

#include "check.hpp"
#include "fabricgauge/feasibility.hpp"
#include "fabricgauge/times.hpp"
#include "virtual_collectives.hpp"

using namespace fabricgauge;
using virtual_ranks::Bytes;
using virtual_ranks::Cluster;
using virtual_ranks::Rank;

namespace {

constexpr Pattern first_collective = Pattern::barrier;
constexpr Pattern last_collective = Pattern::ialltoallv;

Case with(Pattern pattern, std::int64_t bytes, double budget_s) {
    Case made{"a", pattern, bytes, 1, 0, 0, budget_s};
    return made;
}

constexpr Precision usual{0.01, 0.95, 0, 20e-9, false};
constexpr Precision checking{0.01, 0.95, 0, 20e-9, true};

// Rank 0's result, with the first mismatch of all ranks.
TogetherResult measure(Cluster& cluster, const Case& measured, const Precision& precision,
                       bool crowded = false) {
    TogetherResult first;
    Mismatch found;
    std::mutex mutex;
    virtual_ranks::as_every_rank(cluster, [&](Rank& rank) {
        const virtual_ranks::Clock clock{rank};
        std::vector<int> nodes;
        for (int other = 0; other < rank.ranks(); ++other) nodes.push_back(other);
        const Communicator communicator{rank.rank(), rank.ranks(), nodes, crowded};
        SynchronisedClock<Rank, virtual_ranks::Clock> common(rank, clock);
        TogetherResult result;
        measure_collective(rank, clock, common, measured, precision, communicator, result);
        const std::lock_guard lock(mutex);
        if (result.mismatch.found != 0) found = result.mismatch;
        if (rank.rank() == 0) first = result;
    });
    first.mismatch = found;
    return first;
}

Cluster cluster_of(int ranks) {
    Cluster cluster(ranks);
    cluster.offset_ns = [](int rank) { return 1e9 * (rank % 3); };
    cluster.rate = [](int rank) { return 1e-5 * (rank % 4); };
    return cluster;
}

// The waits of this thread's rank, and its messages of `waiting_bytes`.
thread_local Waits planted;
thread_local std::int64_t messages = 0;
constexpr std::int64_t waiting_bytes = 64;

// The first messages of an operation wait for a processor, each for `wait_ns`; the others do not.
Cluster waiting_cluster(std::int64_t waiting_messages, double wait_ns) {
    Cluster cluster(2);
    cluster.way_ns = [=](int, int, std::int64_t bytes, std::int64_t) {
        if (bytes != waiting_bytes) return 1000.0;
        if (messages++ >= waiting_messages) return 20'000.0;
        planted = planted + Waits{1, static_cast<std::int64_t>(wait_ns)};
        return wait_ns;
    };
    return cluster;
}

// Each rank waits in each sample, `wait_ns`; the last one waits `last_ns`. All samples take 1 ms.
Cluster noisy_cluster(int ranks, double wait_ns, double last_ns) {
    Cluster cluster(ranks);
    cluster.way_ns = [=](int from, int to, std::int64_t bytes, std::int64_t) {
        if (bytes != waiting_bytes) return 1000.0;
        const bool first = to == (from == 0 ? 1 : 0);
        const double waited_ns = from == ranks - 1 ? last_ns : wait_ns;
        if (first) planted = planted + Waits{1, static_cast<std::int64_t>(waited_ns)};
        return 1e6;
    };
    return cluster;
}

constexpr Precision reading{
    0.01, 0.95, 0, 20e-9, false, false, [] { return planted; }, longest_extension_s};
constexpr std::int64_t for_ever = 1'000'000'000;

double median_s(const TogetherResult& result) {
    return times_of(result.recorder, 0.95).median_s;
}

}  // namespace

int main() {
    check::test("an iteration lasts from the first start to the last end", [] {
        for (const int ranks : {2, 3, 5}) {
            Cluster cluster = cluster_of(ranks);
            // What rank 1 sends is under way for longer than all else, there and back alike.
            cluster.way_ns = [](int from, int to, std::int64_t, std::int64_t) {
                return from == 1 || to == 1 ? 25'000.0 : 5000.0;
            };
            const TogetherResult result = measure(cluster, with(Pattern::allreduce, 8, 0.2), usual);
            check::expect(result.together.timing == Timing::synchronised);
            check::expect_near(median_s(result), 25e-6, 0.5e-6);
            check::expect(result.together.clock_error_s < 1e-6);
            check::expect_equal(result.together.late_starts, 0);
            check::expect_equal(static_cast<int>(result.together.rank_medians_s.size()), ranks);
            check::expect_near(result.together.rank_medians_s[1], 25e-6, 0.5e-6);
        }
    });
    check::test("a barrier lets ranks out one after the other, which a clock does not", [] {
        Cluster cluster = cluster_of(4);
        cluster.way_ns = [](int, int, std::int64_t, std::int64_t) { return 10'000.0; };
        cluster.let_out_ns = [](int rank) { return 4000.0 * rank; };
        Case measured = with(Pattern::allreduce, 8, 0.2);
        const double clocked_s = median_s(measure(cluster, measured, usual));
        measured.clock = ClockChoice::barrier;
        const TogetherResult barred = measure(cluster, measured, usual);
        check::expect(barred.together.timing == Timing::barrier);
        check::expect_near(clocked_s, 10e-6, 0.5e-6);
        // The rank that is let out first waits for the last.
        check::expect(median_s(barred) > 20e-6);
    });
    check::test("an iteration that a rank begins late is left out and counted", [] {
        Cluster cluster = cluster_of(3);
        cluster.held_up_ns = [](int rank, std::int64_t number) {
            return rank == 2 && number % 10 == 9 ? 300'000.0 : 0.0;
        };
        cluster.way_ns = [](int, int, std::int64_t, std::int64_t) { return 20'000.0; };
        const TogetherResult result = measure(cluster, with(Pattern::bcast, 64, 0.2), usual);
        check::expect(result.together.timing == Timing::synchronised);
        check::expect(result.together.late_starts > 0);
        check::expect(result.recorder.samples() > 0);
        check::expect(times_of(result.recorder, 0.95).maximum_s < 100e-6);
    });
    check::test("ranks that never begin together are timed after barriers, with samples", [] {
        Cluster cluster = cluster_of(3);
        cluster.held_up_ns = [](int rank, std::int64_t) { return rank * 50'000.0; };
        const TogetherResult result = measure(cluster, with(Pattern::allreduce, 8, 0.1), usual);
        check::expect(result.together.timing == Timing::barrier);
        check::expect(result.together.late_starts > 0);
        check::expect(result.recorder.samples() > 0);
    });
    check::test("a clock that is worse than the operation is not used", [] {
        Cluster cluster = cluster_of(3);
        // Asymmetric with rank 2 only, so that ranks 1 and 2 disagree by far more than 1 µs.
        cluster.way_ns = [](int from, int to, std::int64_t bytes, std::int64_t) {
            return from == 2 && to == 0 && bytes <= 1 ? 90'000.0 : 1000.0;
        };
        const TogetherResult result = measure(cluster, with(Pattern::allgather, 8, 0.1), usual);
        check::expect(result.together.clock_error_s > 10e-6);
        check::expect(result.together.timing == Timing::barrier);
    });
    check::test("a case ends with its budget, or with one sample that is longer", [] {
        Cluster cluster = cluster_of(2);
        cluster.way_ns = [](int, int, std::int64_t bytes, std::int64_t number) {
            return bytes == 4096 ? 40'000.0 + static_cast<double>(number * 7919 % 30'000) : 1000.0;
        };
        const TogetherResult noisy = measure(cluster, with(Pattern::bcast, 4096, 0.1), usual);
        check::expect(noisy.stop == Stop::budget);
        check::expect(noisy.wall_s > 0.05 && noisy.wall_s < 0.12);
        Cluster slow = cluster_of(2);
        slow.way_ns = [](int, int, std::int64_t bytes, std::int64_t) {
            return bytes == 4096 ? 2e9 : 1000.0;
        };
        const TogetherResult one = measure(slow, with(Pattern::bcast, 4096, 0.5), usual);
        check::expect_equal(one.recorder.samples(), 1);
        check::expect_near(median_s(one), 2.0, 0.01);
        check::expect(one.together.timing == Timing::barrier);
    });
    check::test("an interval that waits for a processor made is not certified", [] {
        for (const Pattern pattern : {Pattern::allreduce, Pattern::iallreduce}) {
            Cluster cluster = waiting_cluster(for_ever, 1e6);
            const Case measured = with(pattern, waiting_bytes, 0.2);
            const TogetherResult result = measure(cluster, measured, reading);
            check::expect(result.stop == Stop::budget);
            check::expect(result.waiting);
            Precision quiet = reading;
            quiet.read_waits = no_waits;
            Cluster slow = waiting_cluster(for_ever, 1e6);
            const TogetherResult sound = measure(slow, measured, quiet);
            check::expect(sound.stop == Stop::interval);
            check::expect(!sound.waiting);
        }
    });
    check::test("short waits of sixteen ranks mark nothing, long ones of a single rank do", [] {
        const Case measured = with(Pattern::allreduce, waiting_bytes, 0.2);
        Cluster healthy = noisy_cluster(16, 40e3, 40e3);
        const TogetherResult sound = measure(healthy, measured, reading);
        check::expect(sound.stop == Stop::interval);
        check::expect(!sound.waiting);
        Cluster starved = noisy_cluster(16, 40e3, 900e3);
        const TogetherResult marked = measure(starved, measured, reading);
        check::expect(marked.stop == Stop::budget);
        check::expect(marked.waiting);
    });
    check::test("ranks that wait beyond the budget are waited for, then measured for a budget", [] {
        for (const std::int64_t waiting : {3, 30, 60}) {
            Cluster cluster = waiting_cluster(waiting, 14e6);
            const TogetherResult result =
                measure(cluster, with(Pattern::allreduce, waiting_bytes, 0.3), reading);
            check::expect_near(median_s(result), 20e-6, 1e-6);
            check::expect(!result.waiting);
            check::expect(result.recorder.samples() > 100);
            check::expect(times_of(result.recorder, 0.95).maximum_s < 1e-3);
            check::expect_near(result.together.rank_medians_s.at(1), 20e-6, 1e-6);
            check::expect(result.wall_s < 1.5);
        }
    });
    check::test("ranks that wait for ever end within five budgets, with samples and marked", [] {
        for (const double budget_s : {0.02, 0.3}) {
            Cluster cluster = waiting_cluster(for_ever, 14e6);
            const TogetherResult result =
                measure(cluster, with(Pattern::allreduce, waiting_bytes, budget_s), reading);
            check::expect(result.stop == Stop::budget);
            check::expect(result.waiting);
            check::expect(result.recorder.samples() > 0);
            check::expect(result.wall_s > budget_s);
            check::expect(result.wall_s <= longest_with_waits_s(budget_s, longest_extension_s) + 0.1);
        }
    });
    check::test("neither a slow network nor ranks that outnumber their processors take longer", [] {
        Precision quiet = reading;
        quiet.read_waits = no_waits;
        Cluster slow = waiting_cluster(for_ever, 14e6);
        const Case measured = with(Pattern::allreduce, waiting_bytes, 0.3);
        const TogetherResult sound = measure(slow, measured, quiet);
        check::expect(!sound.waiting);
        check::expect(sound.wall_s <= 0.35);
        Cluster crowded = waiting_cluster(for_ever, 14e6);
        const TogetherResult marked = measure(crowded, measured, reading, true);
        check::expect(marked.waiting);
        check::expect_near(marked.wall_s, sound.wall_s, 0.01);
        check::expect(marked.stop == sound.stop);
    });
    check::test("a number of iterations is kept to", [] {
        for (const std::int64_t wanted : {1, 3, 1000}) {
            Cluster cluster = cluster_of(2);
            const Precision precision{0.01, 0.95, wanted, 20e-9, false};
            const TogetherResult result =
                measure(cluster, with(Pattern::allreduce, 8, 50.0), precision);
            check::expect(result.stop == Stop::iterations);
            check::expect_equal(result.recorder.samples() + result.recorder.warmup_samples(), wanted);
        }
        Cluster cluster = cluster_of(2);
        const Precision precision{0.01, 0.95, 3, 20e-9, false};
        const TogetherResult result = measure(cluster, with(Pattern::ibcast, 8, 50.0), precision);
        check::expect_equal(result.recorder.samples(), 3);
        check::expect(result.together.overlap.has_value());
    });
    check::test("computing hides what goes on by itself, and nothing else", [] {
        for (const bool progresses : {true, false}) {
            Cluster cluster = cluster_of(3);
            cluster.progresses = progresses;
            cluster.way_ns = [](int, int, std::int64_t bytes, std::int64_t) {
                return bytes == 512 ? 50'000.0 : 1000.0;
            };
            const TogetherResult result =
                measure(cluster, with(Pattern::iallgather, 512, 0.2), usual);
            check::expect(result.together.overlap.has_value());
            check::expect_near(result.together.overlap.value_or(-1.0), progresses ? 1.0 : 0.0, 0.03);
            check::expect_near(result.together.compute_s, 50e-6, 1e-6);
            check::expect_near(median_s(result), 50e-6, 1e-6);
        }
    });
    check::test("a blocking operation has no overlap", [] {
        Cluster cluster = cluster_of(2);
        check::expect(!measure(cluster, with(Pattern::bcast, 8, 0.05), usual).together.overlap);
    });
    check::test("intact data pass the check in every operation, at any number of ranks", [] {
        for (auto pattern = first_collective; pattern <= last_collective;
             pattern = Pattern(static_cast<int>(pattern) + 1)) {
            for (const int ranks : {2, 3, 5}) {
                Cluster cluster = cluster_of(ranks);
                const TogetherResult result = measure(cluster, with(pattern, 52, 0.002), checking);
                check::expect_equal(result.mismatch.found, 0);
                check::expect(result.recorder.samples() > 0);
            }
        }
    });
    check::test("a corrupt byte is found in every operation that moves data", [] {
        for (auto pattern = first_collective; pattern <= last_collective;
             pattern = Pattern(static_cast<int>(pattern) + 1)) {
            Cluster cluster = cluster_of(3);
            cluster.damage = [](int, int, Bytes& data) {
                if (data.size() == 60 || data.size() == 180)
                    for (std::size_t at = 2; at < data.size(); at += 4) data[at] ^= std::byte{0x40};
            };
            const TogetherResult result = measure(cluster, with(pattern, 60, 0.002), checking);
            const bool moves = movement_of(pattern) != Movement::nothing;
            check::expect_equal(result.mismatch.found, moves ? 1 : 0);
        }
    });
    check::test("memory is what a rank reads and writes", [] {
        check::expect_equal(collective_memory_bytes(with(Pattern::barrier, 0, 1.0), 0, 8), 0);
        check::expect_equal(collective_memory_bytes(with(Pattern::alltoall, 100, 1.0), 3, 8), 1600);
        check::expect_equal(collective_memory_bytes(with(Pattern::gather, 100, 1.0), 0, 8), 900);
        check::expect_equal(collective_memory_bytes(with(Pattern::gather, 100, 1.0), 7, 8), 100);
        check::expect_equal(collective_memory_bytes(with(Pattern::alltoall, 100, 1.0), 9, 8), 0);
    });
    check::test("sizes that an operation cannot have are refused with the reason", [] {
        const auto reason = [](Pattern pattern, std::int64_t bytes, int ranks) {
            return missing_ranks(with(pattern, bytes, 1.0), ranks);
        };
        check::expect(reason(Pattern::allreduce, 10, 4).find("multiple of 4") != std::string::npos);
        check::expect(reason(Pattern::ireduce, 12, 4).empty());
        check::expect(reason(Pattern::alltoallv, 1 << 30, 4).find("2 GiB") != std::string::npos);
        check::expect(reason(Pattern::alltoall, 10, 4).empty());
    });
    return check::outcome();
}
