#include "fabricgauge/measuring.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "check.hpp"
#include "fabricgauge/times.hpp"
#include "loopback.hpp"

using namespace fabricgauge;
using loopback::Wire;

namespace {

struct Both {
    OriginResult origin;
    TargetResult target;
};

Case with(Pattern pattern, std::int64_t bytes, std::int64_t window, double budget_s) {
    return {"a", pattern, bytes, window, 0, 1, budget_s};
}

constexpr Precision usual{0.01, 0.95, 0, 20e-9, false};
constexpr Precision checking{0.01, 0.95, 0, 20e-9, true};
constexpr Precision checking_first{0.01, 0.95, 0, 20e-9, false, true};

Both measure(Wire& wire, const Case& measured, const Precision& precision) {
    wire.window.resize(static_cast<std::size_t>(measured.sample_payload_bytes()) + 1);
    Both both;
    std::thread target([&] {
        loopback::Transport transport(wire, 1);
        std::byte* const window = is_one_sided(measured.pattern) ? wire.window.data() : nullptr;
        Messages messages(measured, precision.check_data, window);
        both.target = measure_as_target(transport, messages, measured, no_waits);
    });
    loopback::Transport transport(wire, 0);
    Messages messages(measured, precision.check_data, nullptr);
    both.origin =
        measure_as_origin(transport, loopback::WireClock{wire}, messages, measured, precision);
    target.join();
    return both;
}

// What the ranks of measure_waiting waited so far.
std::atomic<std::int64_t> turns{0}, waited_ns{0};

// Each message waits 14 ms for a processor for that long, then none does.
Both measure_waiting(Wire& wire, double budget_s, double waiting_s, std::int64_t iterations = 0,
                     std::int64_t bytes = 8) {
    wire.cost_ns = [&wire, waiting_s](std::int64_t) -> std::int64_t {
        if (static_cast<double>(wire.now_ns) * 1e-9 >= waiting_s) return 5000;
        turns += 1;
        waited_ns += 14'000'000;
        return 14'000'000;
    };
    Precision precision = usual;
    precision.iterations = iterations;
    precision.read_waits = [] { return Waits{turns, waited_ns}; };
    precision.extension_s = longest_extension_s;
    return measure(wire, with(Pattern::latency, bytes, 1, budget_s), precision);
}

constexpr Pattern one_sided[] = {Pattern::put_latency, Pattern::put_bandwidth,
                                 Pattern::get_latency, Pattern::get_bandwidth,
                                 Pattern::accumulate_latency};
constexpr Pattern atomics[] = {Pattern::fetch_and_op_latency, Pattern::compare_and_swap_latency};
constexpr Epoch epochs[] = {Epoch::flush, Epoch::fence, Epoch::pscw};

// Every pattern of a pair, one-sided ones with each completion, of messages of about that size.
std::vector<Case> every_case(std::int64_t bytes, double budget_s) {
    std::vector<Case> cases;
    for (const Pattern pattern :
         {Pattern::latency, Pattern::bandwidth, Pattern::bidirectional_bandwidth,
          Pattern::ping_ping, Pattern::persistent_latency, Pattern::persistent_bandwidth})
        cases.push_back(with(pattern, bytes, 8, budget_s));
    for (const Epoch epoch : epochs) {
        for (const Pattern pattern : one_sided) {
            cases.push_back(with(pattern, bytes / 8 * 8, 8, budget_s));
            cases.back().epoch = epoch;
        }
        for (const Pattern pattern : atomics) {
            cases.push_back(with(pattern, 8, 1, budget_s));
            cases.back().epoch = epoch;
        }
    }
    for (const Pattern pattern : {Pattern::threads_latency, Pattern::threads_bandwidth}) {
        cases.push_back(with(pattern, bytes, 8, budget_s));
        cases.back().threads = 3;
    }
    return cases;
}

Case with_epoch(Case measured, Epoch epoch) {
    measured.epoch = epoch;
    return measured;
}

Case with_threads(Case measured, int threads) {
    measured.threads = threads;
    return measured;
}

}  // namespace

int main() {
    check::test("latency is half the round trip", [] {
        Wire wire;
        wire.cost_ns = [](std::int64_t) { return 10'000; };
        const Both both = measure(wire, with(Pattern::latency, 8, 1, 1.0), usual);
        check::expect_near(times_of(both.origin.recorder, 0.95).median_s, 10e-6, 1e-12);
        check::expect(both.origin.stop == Stop::interval);
        check::expect_equal(both.origin.batch, 1);
    });
    check::test("a bandwidth sample is the window and its acknowledgement", [] {
        Wire wire;
        const Both both = measure(wire, with(Pattern::bandwidth, 100, 16, 1.0), usual);
        check::expect_near(times_of(both.origin.recorder, 0.95).median_s, 17e-6, 1e-12);
    });
    check::test("short operations are batched and a sample is their mean", [] {
        Wire wire;
        wire.cost_ns = [](std::int64_t) { return 100; };
        const Both both = measure(wire, with(Pattern::put_latency, 8, 1, 1.0), usual);
        check::expect_equal(both.origin.batch, 20);
        check::expect_near(times_of(both.origin.recorder, 0.95).median_s, 100e-9, 1e-15);
    });
    check::test("a planted warm-up is found", [] {
        Wire wire;
        wire.cost_ns = [](std::int64_t number) { return number < 400 ? 30'000 : 10'000; };
        const Both both = measure(wire, with(Pattern::latency, 8, 1, 1.0), usual);
        check::expect(both.origin.recorder.warmup_samples() >= 190);
        check::expect(both.origin.recorder.warmup_samples() < 260);
        check::expect_near(times_of(both.origin.recorder, 0.95).median_s, 10e-6, 1e-12);
        check::expect(times_of(both.origin.recorder, 0.95).maximum_s < 25e-6);
    });
    check::test("a first iteration that waited for a processor does not set the block", [] {
        Wire wire;
        wire.cost_ns = [](std::int64_t number) { return number < 2 ? 10'000'000 : 500; };
        const Both both = measure(wire, with(Pattern::latency, 8, 1, 1.0), usual);
        check::expect_near(times_of(both.origin.recorder, 0.95).median_s, 500e-9, 1e-15);
        check::expect(both.origin.stop == Stop::interval);
        check::expect_equal(both.origin.batch, 2);
        check::expect(both.origin.recorder.samples() > 1000);
    });
    check::test("nor do probes that did, nor waits after every few samples", [] {
        Wire wire;
        wire.cost_ns = [](std::int64_t number) {
            return number < 40 || number % 300 == 0 ? 4'000'000 : 500;
        };
        const Both both = measure(wire, with(Pattern::latency, 8, 1, 1.0), usual);
        check::expect_near(times_of(both.origin.recorder, 0.95).median_s, 500e-9, 1e-15);
    });
    check::test("a case that begins anew as its budget ends has samples all the same", [] {
        for (std::int64_t slow = 2; slow < 60; ++slow) {
            Wire wire;
            wire.cost_ns = [slow](std::int64_t number) { return number < slow ? 4'000'000 : 500; };
            const Both both = measure(wire, with(Pattern::latency, 8, 1, 0.05), usual);
            check::expect(both.origin.recorder.samples() > 0);
        }
    });
    check::test("a wait at the beginning of each block does not become the median", [] {
        // A rank that is not running answers late, and runs on until the next block.
        Wire wire;
        std::int64_t answered = 0;
        wire.cost_ns = [&wire, &answered](std::int64_t) {
            return std::exchange(answered, wire.controls.load()) < wire.controls ? 12'000'000 : 500;
        };
        const Both both = measure(wire, with(Pattern::latency, 8, 1, 0.3), usual);
        check::expect_near(times_of(both.origin.recorder, 0.95).median_s, 500e-9, 1e-15);
    });
    check::test("short samples that are slow by themselves stay blocks of their own, too", [] {
        Wire wire;
        wire.cost_ns = [](std::int64_t) { return 10'000'000; };
        const Both both = measure(wire, with(Pattern::latency, 8, 1, 2.0), usual);
        check::expect(both.origin.recorder.blocks().blocks() >= 6);
    });
    check::test("samples that are slow by themselves stay blocks of their own", [] {
        Wire wire;
        wire.cost_ns = [](std::int64_t number) { return 20'000'000 + number % 3 * 1000; };
        const Both both = measure(wire, with(Pattern::bandwidth, 65536, 1, 2.0), usual);
        check::expect_equal(both.origin.recorder.warmup_samples(), 0);
        check::expect(both.origin.recorder.blocks().blocks() >= 6);
    });
    check::test("an interval that waits for a processor made is not certified", [] {
        Wire wire;
        wire.cost_ns = [](std::int64_t) { return 1'000'000; };
        Precision waiting = usual;
        waiting.read_waits = [] {
            static Waits waits;
            return waits = waits + Waits{1000, 1'000'000'000};
        };
        const Both both = measure(wire, with(Pattern::latency, 8, 1, 1.0), waiting);
        check::expect(both.origin.stop == Stop::budget);
        check::expect(both.origin.waiting);
        check::expect_equal(both.origin.payload_bytes, wire.payload_bytes[0].load());
        check::expect_equal(both.target.payload_bytes, wire.payload_bytes[1].load());
        waiting.read_waits = no_waits;
        const Both sound = measure(wire, with(Pattern::latency, 8, 1, 1.0), waiting);
        check::expect(sound.origin.stop == Stop::interval);
        check::expect(!sound.origin.waiting);
    });
    check::test("ranks that wait beyond the budget are waited for, then measured for a budget", [] {
        for (const double waiting_s : {0.35, 1.1}) {
            Wire wire;
            const Both both = measure_waiting(wire, 0.3, waiting_s);
            check::expect_near(times_of(both.origin.recorder, 0.95).median_s, 5e-6, 1e-15);
            check::expect(!both.origin.waiting);
            check::expect(both.origin.recorder.samples() > 1000);
            check::expect(both.origin.wall_s < 1.5);
            check::expect_equal(both.origin.payload_bytes, wire.payload_bytes[0].load());
            check::expect_equal(both.target.payload_bytes, wire.payload_bytes[1].load());
        }
    });
    check::test("samples that become slow within a block end it, long before the grace", [] {
        // Two time slices for each round trip of ranks that come to share a processor.
        for (const std::int64_t from : {2000, 20'000, 30'001}) {
            Wire wire;
            wire.cost_ns = [from](std::int64_t number) {
                return number < from ? 150 + number % 7 * 40 : 17'000'000;
            };
            const Both both = measure(wire, with(Pattern::latency, 8, 1, 0.3), usual);
            check::expect(wire.messages > from);
            check::expect(both.origin.wall_s < 4.0);
            check::expect(both.origin.recorder.samples() > 0);
        }
    });
    check::test("a block of several rounds has the time between them in no sample", [] {
        // Two messages of each round that are no samples: the lead-in.
        Wire wire;
        std::int64_t told = 0, since = 0;
        wire.cost_ns = [&](std::int64_t) -> std::int64_t {
            if (std::exchange(told, wire.controls.load()) < wire.controls) since = 0;
            return since++ < 2 ? 400'000 : 500;
        };
        const Both both = measure(wire, with(Pattern::latency, 8, 1, 1.0), usual);
        check::expect_equal(both.origin.batch, 2);
        check::expect_near(times_of(both.origin.recorder, 0.95).maximum_s, 500e-9, 5e-9);
        check::expect_equal(both.origin.payload_bytes, wire.payload_bytes[0].load());
        check::expect_equal(both.target.payload_bytes, wire.payload_bytes[1].load());
    });
    check::test("so is a first sample that waited for all of the budget", [] {
        Wire wire;
        const Both both = measure_waiting(wire, 0.02, 0.05);
        check::expect_near(times_of(both.origin.recorder, 0.95).median_s, 5e-6, 1e-15);
        check::expect(!both.origin.waiting);
    });
    check::test("ranks that wait for ever end within five budgets, with samples and marked", [] {
        for (const double budget_s : {0.02, 0.3, 2.0}) {
            Wire wire;
            const Both both = measure_waiting(wire, budget_s, 1e9);
            check::expect(both.origin.stop == Stop::budget);
            check::expect(both.origin.waiting);
            check::expect(both.origin.recorder.samples() > 0);
            check::expect_near(times_of(both.origin.recorder, 0.95).median_s, 14e-3, 1e-6);
            check::expect(both.origin.wall_s > budget_s);
            check::expect(both.origin.wall_s <= longest_with_waits_s(budget_s, longest_extension_s) + 0.03);
        }
    });
    check::test("waits that settled are discarded, too", [] {
        Wire wire;
        const Both both = measure_waiting(wire, 2.0, 2.5);
        check::expect_near(times_of(both.origin.recorder, 0.95).median_s, 5e-6, 1e-15);
        check::expect(both.origin.recorder.warmup_samples() > 50);
        check::expect(times_of(both.origin.recorder, 0.95).maximum_s < 1e-3);
    });
    check::test("neither a slow network nor a number of iterations is waited for", [] {
        Wire slow;
        slow.cost_ns = [](std::int64_t) { return 14'000'000; };
        Precision known = usual;
        known.read_waits = no_waits;
        known.extension_s = longest_extension_s;
        const Both both = measure(slow, with(Pattern::latency, 8, 1, 0.3), known);
        check::expect(both.origin.stop == Stop::budget);
        check::expect(!both.origin.waiting);
        check::expect(both.origin.wall_s <= 0.3);
        Wire counted;
        check::expect(measure_waiting(counted, 0.3, 1e9, 1000).origin.wall_s <= 0.3);
        Wire large;
        check::expect(measure_waiting(large, 0.3, 1e9, 0, 65536).origin.wall_s <= 0.3);
    });
    check::test("noise that stays wide ends with the budget, and not past it", [] {
        Wire wire;
        wire.cost_ns = [](std::int64_t number) { return 1000 * (1 + (number * 7919) % 9973); };
        const Both both = measure(wire, with(Pattern::latency, 8, 1, 0.5), usual);
        check::expect(both.origin.stop == Stop::budget);
        check::expect(both.origin.wall_s > 0.4 && both.origin.wall_s < 0.55);
        check::expect(both.origin.recorder.samples() > 20);
    });
    check::test("a sample longer than the budget is taken once", [] {
        Wire wire;
        wire.cost_ns = [](std::int64_t) { return 2'000'000'000; };
        const Both both = measure(wire, with(Pattern::latency, 8, 1, 0.5), usual);
        check::expect(both.origin.stop == Stop::budget);
        check::expect_equal(both.origin.recorder.samples(), 1);
        check::expect_equal(both.origin.recorder.warmup_samples(), 0);
        check::expect_near(times_of(both.origin.recorder, 0.95).median_s, 2.0, 1e-9);
    });
    check::test("a number of iterations is kept to", [] {
        Wire wire;
        wire.cost_ns = [](std::int64_t) { return 10'000; };
        const Precision precision{0.01, 0.95, 1234, 20e-9, false};
        const Both both = measure(wire, with(Pattern::latency, 8, 1, 100.0), precision);
        check::expect(both.origin.stop == Stop::iterations);
        check::expect_equal(both.origin.recorder.samples(), 1234);
    });
    check::test("the payload that is reported is what passed", [] {
        for (const Case& measured : every_case(100, 0.1)) {
            for (const Precision& precision : {usual, checking, checking_first}) {
                Wire wire;
                wire.cost_ns = [](std::int64_t) { return 100'000; };
                const Both both = measure(wire, measured, precision);
                check::expect_equal(both.origin.payload_bytes, wire.payload_bytes[0].load());
                check::expect_equal(both.target.payload_bytes, wire.payload_bytes[1].load());
            }
        }
    });
    check::test("intact data pass the check in every pattern", [] {
        for (const Case& measured : every_case(1003, 0.01)) {
            Wire wire;
            const Both both = measure(wire, measured, checking);
            check::expect_equal(both.origin.mismatch.found, 0);
            check::expect(both.origin.recorder.samples() > 0);
        }
    });
    check::test("a corrupt byte is reported with its offset in every pattern", [] {
        for (const Case& measured : every_case(1003, 0.05)) {
            const std::int64_t offset = measured.message_bytes > 777 ? 777 : 5;
            Wire wire;
            wire.damage = [offset](std::int64_t number, std::byte* data, std::int64_t bytes) {
                if (number >= 100 && bytes > offset) data[offset] ^= std::byte{0x10};
            };
            const Both both = measure(wire, measured, checking);
            check::expect_equal(both.origin.mismatch.found, 1);
            check::expect_equal(both.origin.mismatch.offset, offset);
        }
    });
    check::test("the first sample of every pattern is compared, with any buffers", [] {
        for (Case& measured : every_case(1003, 0.01)) {
            for (const Buffers buffers : {Buffers::fewest, Buffers::single, Buffers::multiple}) {
                measured.buffers = is_one_sided(measured.pattern) ? Buffers::fewest : buffers;
                Wire wire;
                const Both both = measure(wire, measured, checking_first);
                check::expect_equal(both.origin.mismatch.found, 0);
                check::expect_equal(both.origin.compared, 1);
                check::expect(both.origin.recorder.samples() > 0);
            }
        }
    });
    check::test("a corrupt byte of the first sample is reported in every pattern", [] {
        for (const Case& measured : every_case(1003, 0.01)) {
            const std::int64_t offset = measured.message_bytes > 777 ? 777 : 5;
            Wire wire;
            wire.damage = [offset](std::int64_t number, std::byte* data, std::int64_t bytes) {
                if (number % 3 == 0 && bytes > offset) data[offset] ^= std::byte{0x10};
            };
            const Both both = measure(wire, measured, checking_first);
            check::expect_equal(both.origin.mismatch.found, 1);
            check::expect_equal(both.origin.mismatch.offset, offset);
            check::expect_equal(both.origin.mismatch.sample, 0);
        }
    });
    check::test("two words that changed places in a frame of 300 are found", [] {
        Wire wire;
        wire.damage = [](std::int64_t, std::byte* data, std::int64_t bytes) {
            for (std::int64_t frame = 299 * 1448; frame + 8 <= bytes; frame += 300 * 1448)
                std::swap_ranges(data + frame, data + frame + 2, data + frame + 2);
        };
        for (const Pattern pattern : {Pattern::latency, Pattern::bandwidth, Pattern::put_latency}) {
            const Both both = measure(wire, with(pattern, 1 << 20, 2, 0.01), checking_first);
            check::expect_equal(both.origin.mismatch.offset, 299 * 1448);
        }
    });
    check::test("of a long window no more than 4 MiB are compared", [] {
        Wire wire;
        wire.damage = [](std::int64_t number, std::byte* data, std::int64_t bytes) {
            if (number % 9 == 5 && bytes > 0) data[0] ^= std::byte{1};  // the sixth of 8 messages
        };
        const Both both = measure(wire, with(Pattern::bandwidth, 1 << 20, 8, 0.01), checking_first);
        check::expect_equal(both.origin.mismatch.found, 0);
        check::expect_equal(both.origin.compared, 1);
    });
    check::test("what a corrupt byte was is reported", [] {
        Wire wire;
        wire.damage = [](std::int64_t number, std::byte* data, std::int64_t bytes) {
            if (number >= 100 && bytes > 777) data[777] ^= std::byte{0x10};
        };
        const Both both = measure(wire, with(Pattern::get_bandwidth, 1003, 8, 0.05), checking);
        check::expect_equal(both.origin.mismatch.expected ^ both.origin.mismatch.received, 0x10);
    });
    check::test("a sum that replaced what was there is found", [] {
        Wire wire;
        wire.damage = [&wire](std::int64_t, std::byte*, std::int64_t) {
            std::fill(wire.window.begin(), wire.window.end(), std::byte{0});
        };
        const Both both = measure(wire, with(Pattern::accumulate_latency, 64, 1, 0.01), checking);
        check::expect_equal(both.origin.mismatch.found, 1);
        check::expect_equal(both.origin.mismatch.rank, 1);
    });
    check::test("a ping-ping is the time of both messages, not half of it", [] {
        Wire wire;
        wire.cost_ns = [](std::int64_t) { return 10'000; };
        const Both both = measure(wire, with(Pattern::ping_ping, 8, 1, 1.0), usual);
        check::expect_near(times_of(both.origin.recorder, 0.95).median_s, 20e-6, 11e-6);
    });
    check::test("every thread's half round trips are samples", [] {
        Wire wire;
        wire.cost_ns = [](std::int64_t) { return 10'000; };
        const Case measured = with_threads(with(Pattern::threads_latency, 8, 1, 0.5), 3);
        const Both both = measure(wire, measured, usual);
        const Recorder& recorder = both.origin.recorder;
        check::expect_equal((recorder.warmup_samples() + recorder.samples()) % 3, 0);
        check::expect(times_of(both.origin.recorder, 0.95).minimum_s >= 10e-6 - 1e-12);
    });
    check::test("the samples of threads that stream add up to the time of all", [] {
        Wire wire;
        const Case measured = with_threads(with(Pattern::threads_bandwidth, 100, 16, 100.0), 3);
        const Both both = measure(wire, measured, {0.01, 0.95, 200, 20e-9, false});
        const Times times = times_of(both.origin.recorder, 0.95);
        check::expect(times.mean_s > 0.5 * 3 * 17e-6 && times.mean_s < 1.1 * 3 * 17e-6);
    });
    check::test("a window of puts under a fence has one fence", [] {
        Wire wire;
        const Case measured = with_epoch(with(Pattern::put_bandwidth, 100, 16, 1.0), Epoch::fence);
        const Both both = measure(wire, measured, usual);
        check::expect_near(times_of(both.origin.recorder, 0.95).median_s, 16e-6, 1e-12);
    });
    check::test("damage on the way back is found at the origin", [] {
        Wire wire;
        wire.damage = [](std::int64_t number, std::byte* data, std::int64_t bytes) {
            if (number % 2 == 1 && bytes > 0) data[0] ^= std::byte{0x01};
        };
        const Both both = measure(wire, with(Pattern::latency, 64, 1, 0.01), checking);
        check::expect_equal(both.origin.mismatch.found, 1);
        check::expect_equal(both.origin.mismatch.rank, 0);
    });
    return check::outcome();
}
