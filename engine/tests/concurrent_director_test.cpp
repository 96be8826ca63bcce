#include "fabricgauge/concurrent_director.hpp"

#include <functional>

#include "check.hpp"
#include "fabricgauge/times.hpp"

using namespace fabricgauge;

namespace {

Case latency(double budget_s) { return {"a", Pattern::multi_latency, 8, 1, 0, 1, budget_s}; }

constexpr Precision usual{0.01, 0.95, 0, 20e-9, false};

// Ranks whose n-th sample is what `sample_ps` says of rank and n; the slowest makes the round's
// length.
struct Ranks {
    int count;
    std::function<std::int64_t(int, std::int64_t)> sample_ps;
    std::int64_t taken = 0;
    double elapsed_s = 0.0;
    std::int64_t rounds = 0;

    void run(ConcurrentDirector& director) {
        for (ConcurrentRound round = director.next(); round.samples > 0; round = director.next()) {
            std::vector<std::int64_t> all;
            double slowest_s = 0.0;
            for (int rank = 0; rank < count; ++rank) {
                double own_s = 0.0;
                for (std::int64_t i = 0; i < round.samples; ++i) {
                    all.push_back(sample_ps(rank, taken + i));
                    own_s += 2e-12 * static_cast<double>(all.back() * round.batch);
                }
                slowest_s = std::max(slowest_s, own_s);
            }
            taken += round.samples;
            elapsed_s += slowest_s;
            ++rounds;
            director.take(round, all.data(), elapsed_s, slowest_s);
        }
        director.recorder().settle();
    }
};

}  // namespace

int main() {
    check::test("a slow pair among a hundred has its share of the tail, not of the median", [] {
        ConcurrentDirector director(latency(2.0), usual, 100, 2, 1);
        Ranks ranks{100, [](int rank, std::int64_t) { return rank == 7 ? 50'000'000 : 5'000'000; }};
        ranks.run(director);
        const Times times = times_of(director.recorder(), 0.95);
        check::expect_near(times.median_s, 5e-6, 1e-12);
        check::expect_near(times.p90_s, 5e-6, 5e-8);
        check::expect_near(times.p999_s, 50e-6, 5e-7);
        check::expect(director.stop() == Stop::interval);
    });
    check::test("every rank's samples are in the recorder", [] {
        ConcurrentDirector director(latency(1.0), usual, 3, 2, 1);
        Ranks ranks{3, [](int rank, std::int64_t) { return 2'000'000 + rank; }};
        ranks.run(director);
        const Recorder& found = director.recorder();
        check::expect_equal(found.samples() + found.warmup_samples(), 3 * ranks.taken);
        check::expect_equal(found.histogram().minimum_ps(), 2'000'000);
        check::expect_equal(found.histogram().maximum_ps(), 2'000'002);
    });
    check::test("a warm-up of all pairs is found", [] {
        ConcurrentDirector director(latency(1.0), usual, 4, 2, 1);
        Ranks ranks{4, [](int, std::int64_t n) { return n < 300 ? 30'000'000 : 10'000'000; }};
        ranks.run(director);
        check::expect(director.recorder().warmup_samples() >= 4 * 280);
        check::expect(director.recorder().warmup_samples() <= 4 * 320);
        check::expect_near(times_of(director.recorder(), 0.95).median_s, 10e-6, 1e-12);
    });
    check::test("each rank takes the iterations asked for", [] {
        const Precision precision{0.01, 0.95, 777, 20e-9, false};
        ConcurrentDirector director(latency(100.0), precision, 5, 2, 1);
        Ranks ranks{5, [](int, std::int64_t) { return 5'000'000; }};
        ranks.run(director);
        check::expect(director.stop() == Stop::iterations);
        check::expect_equal(director.recorder().samples(), 5 * 777);
    });
    check::test("noise that stays wide ends with the budget, and not past it", [] {
        ConcurrentDirector director(latency(0.5), usual, 2, 2, 1);
        Ranks ranks{2, [](int rank, std::int64_t n) {
                        return 1'000'000 * (1 + (n * 7919 + rank * 31) % 9973);
                    }};
        ranks.run(director);
        check::expect(director.stop() == Stop::budget);
        check::expect(ranks.elapsed_s > 0.3 && ranks.elapsed_s < 0.6);
    });
    check::test("a sample longer than the budget is taken once and counts", [] {
        ConcurrentDirector director(latency(0.5), usual, 2, 2, 1);
        Ranks ranks{2, [](int, std::int64_t) { return 1'000'000'000'000; }};
        ranks.run(director);
        check::expect(director.stop() == Stop::budget);
        check::expect_equal(director.recorder().samples(), 2);
        check::expect_equal(director.next().last_counts, 1);
    });
    check::test("short operations are batched, but never beyond what is allowed", [] {
        for (const std::int64_t longest : {1, 10'000}) {
            ConcurrentDirector director(latency(1.0), usual, 2, 2, longest);
            Ranks ranks{2, [](int, std::int64_t) { return 50'000; }};
            ranks.run(director);
            check::expect_equal(director.batch(), longest == 1 ? 1 : 20);
        }
    });
    check::test("a slow first operation does not leave every block with a single sample", [] {
        ConcurrentDirector director(latency(1.0), usual, 2, 2, 1);
        Ranks ranks{2, [](int, std::int64_t n) {
                        return n == 0 ? 50'000'000'000 : 1'000'000 * (1 + n % 100);
                    }};
        ranks.run(director);
        check::expect(static_cast<double>(ranks.taken) / static_cast<double>(ranks.rounds) > 100.0);
    });
    check::test("when samples turn out a thousand times longer, rounds have fewer of them", [] {
        ConcurrentDirector director(latency(1.0), usual, 2, 2, 1);
        const auto make = [&](std::int64_t sample_ps) {
            const ConcurrentRound round = director.next();
            const double round_s = 2e-12 * static_cast<double>(round.samples * sample_ps);
            const auto count = static_cast<std::size_t>(2 * round.samples);
            director.take(round, std::vector<std::int64_t>(count, sample_ps).data(), 0.01, round_s);
            return round.samples;
        };
        for (int i = 0; i < 10; ++i) make(500'000);
        const std::int64_t before = make(500'000'000);
        check::expect(1e-3 * static_cast<double>(before) > 0.2);
        check::expect(1e-3 * static_cast<double>(director.next().samples) < 0.1);
    });
    check::test("the first rounds are short, whatever the probes were", [] {
        ConcurrentDirector director(latency(1.0), usual, 2, 2, 1);
        const std::vector<std::int64_t> quick(10, 500'000);
        for (int i = 0; i < 2; ++i) director.take(director.next(), quick.data(), 1e-3, 1e-5);
        check::expect(director.next().samples <= 16);
    });
    return check::outcome();
}
