#include "fabricgauge/measuring.hpp"

#include <thread>

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

Both measure(Wire& wire, const Case& measured, const Precision& precision) {
    wire.window.resize(static_cast<std::size_t>(measured.sample_payload_bytes()) + 1);
    Both both;
    std::thread target([&] {
        loopback::Transport transport(wire, 1);
        std::byte* const window = is_one_sided(measured.pattern) ? wire.window.data() : nullptr;
        Messages messages(measured, precision.check_data, window);
        both.target = measure_as_target(transport, messages, measured, precision.check_data);
    });
    loopback::Transport transport(wire, 0);
    Messages messages(measured, precision.check_data, nullptr);
    both.origin =
        measure_as_origin(transport, loopback::WireClock{wire}, messages, measured, precision);
    target.join();
    return both;
}

constexpr Pattern every_pattern[] = {Pattern::latency, Pattern::bandwidth,
                                     Pattern::bidirectional_bandwidth, Pattern::put_latency,
                                     Pattern::put_bandwidth};

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
        for (const Pattern pattern : every_pattern) {
            for (const Precision& precision : {usual, checking}) {
                Wire wire;
                wire.cost_ns = [](std::int64_t) { return 100'000; };
                const Both both = measure(wire, with(pattern, 100, 8, 0.1), precision);
                check::expect_equal(both.origin.payload_bytes, wire.payload_bytes[0].load());
                check::expect_equal(both.target.payload_bytes, wire.payload_bytes[1].load());
            }
        }
    });
    check::test("intact data pass the check in every pattern", [] {
        for (const Pattern pattern : every_pattern) {
            Wire wire;
            const Both both = measure(wire, with(pattern, 1003, 8, 0.01), checking);
            check::expect_equal(both.origin.mismatch.found, 0);
            check::expect(both.origin.recorder.samples() > 0);
        }
    });
    check::test("a corrupt byte is reported with its offset in every pattern", [] {
        for (const Pattern pattern : every_pattern) {
            Wire wire;
            wire.damage = [](std::int64_t number, std::byte* data, std::int64_t bytes) {
                if (number >= 100 && bytes > 777) data[777] ^= std::byte{0x10};
            };
            const Both both = measure(wire, with(pattern, 1003, 8, 0.05), checking);
            check::expect_equal(both.origin.mismatch.found, 1);
            check::expect_equal(both.origin.mismatch.offset, 777);
            check::expect_equal(both.origin.mismatch.expected ^ both.origin.mismatch.received, 0x10);
        }
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
