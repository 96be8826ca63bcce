#include "fabricgauge/messages.hpp"

#include <cstdint>
#include <cstring>

#include "check.hpp"

using namespace fabricgauge;

namespace {

Case with(Pattern pattern, std::int64_t bytes, std::int64_t window,
          Buffers buffers = Buffers::fewest) {
    Case measured{"a", pattern, bytes, window, 0, 1, 1.0};
    measured.buffers = buffers;
    return measured;
}

}  // namespace

int main() {
    check::test("pending receives never overlap", [] {
        const Messages messages(with(Pattern::bandwidth, 100, 4), false, nullptr);
        check::expect(messages.slots().incoming(1) - messages.slots().incoming(0) == 100);
        check::expect(messages.slots().outgoing(1) == messages.slots().outgoing(0));
        check::expect(messages.slots().incoming(0) != messages.slots().outgoing(0));
    });
    check::test("a latency message returns to its buffer unless data are checked", [] {
        const Messages plain(with(Pattern::latency, 100, 1), false, nullptr);
        check::expect(plain.slots().incoming(0) == plain.slots().outgoing(0));
        const Messages checked(with(Pattern::latency, 100, 1), true, nullptr);
        check::expect(checked.slots().incoming(0) != checked.slots().outgoing(0));
    });
    check::test("OSU's uses of buffers never receive into what is sent", [] {
        for (const Buffers buffers : {Buffers::single, Buffers::multiple}) {
            const Messages messages(with(Pattern::latency, 100, 1, buffers), false, nullptr);
            check::expect(messages.slots().incoming(0) != messages.slots().outgoing(0));
            check::expect(messages.slots().reply == messages.slots().outgoing(0));
        }
    });
    check::test("a single buffer receives the whole window, and another one is sent", [] {
        const Messages messages(with(Pattern::bandwidth, 100, 4, Buffers::single), false, nullptr);
        check::expect(messages.slots().incoming(3) == messages.slots().incoming(0));
        check::expect(messages.slots().outgoing(3) == messages.slots().outgoing(0));
        check::expect(messages.slots().incoming(0) - messages.slots().outgoing(0) == page_bytes);
    });
    check::test("multiple buffers give each message pages of its own, at both ends", [] {
        const Messages messages(with(Pattern::bandwidth, 5000, 4, Buffers::multiple), false, nullptr);
        check::expect(messages.slots().outgoing(1) - messages.slots().outgoing(0) == 2 * page_bytes);
        check::expect(messages.slots().incoming(1) - messages.slots().incoming(0) == 2 * page_bytes);
        check::expect(messages.slots().incoming(0) - messages.slots().outgoing(3) == 2 * page_bytes);
        check::expect(messages.memory().bytes() == 16 * page_bytes);
    });
    check::test("a message in another message's buffer is found if there are multiple", [] {
        Messages messages(with(Pattern::bandwidth, 100, 4, Buffers::multiple), false, nullptr);
        messages.fill(Author::origin, 0);
        for (std::int64_t slot = 0; slot < 4; ++slot)
            std::memcpy(messages.slots().incoming(slot), messages.slots().outgoing(slot), 100);
        Mismatch found;
        messages.verify(Author::origin, 0, 1, found);
        check::expect_equal(found.found, 0);
        std::memcpy(messages.slots().incoming(2), messages.slots().outgoing(1), 100);
        messages.verify(Author::origin, 0, 1, found);
        check::expect_equal(found.slot, 2);
    });
    check::test("when data are checked, the target returns what it received", [] {
        const Messages messages(with(Pattern::latency, 100, 1, Buffers::single), true, nullptr);
        check::expect(messages.slots().reply == messages.slots().incoming(0));
    });
    check::test("receives begin on a page of their own", [] {
        const Messages messages(with(Pattern::bandwidth, 100, 4), false, nullptr);
        check::expect(messages.slots().incoming(0) - messages.slots().outgoing(0) == page_bytes);
    });
    check::test("memory begins on a page", [] {
        check::expect(reinterpret_cast<std::uintptr_t>(Buffer(10).data()) % 4096 == 0);
        check::expect(Buffer(0).data() != nullptr);
    });
    check::test("the memory needed counts window and both directions", [] {
        check::expect_equal(memory_needed_bytes(with(Pattern::latency, 100, 1), false), 100);
        check::expect_equal(
            memory_needed_bytes(with(Pattern::latency, 100, 1, Buffers::single), false), 200);
        check::expect_equal(
            memory_needed_bytes(with(Pattern::bandwidth, 100, 4, Buffers::single), false), 200);
        check::expect_equal(
            memory_needed_bytes(with(Pattern::bandwidth, 100, 4, Buffers::multiple), false),
            8 * page_bytes);
        check::expect_equal(memory_needed_bytes(with(Pattern::bandwidth, 100, 4), false), 500);
        check::expect_equal(memory_needed_bytes(with(Pattern::bandwidth, 100, 4), true), 800);
        check::expect_equal(memory_needed_bytes(with(Pattern::put_bandwidth, 100, 4), false), 400);
        check::expect_equal(memory_needed_bytes(with(Pattern::get_bandwidth, 100, 4), false), 400);
        check::expect_equal(memory_needed_bytes(with(Pattern::ping_ping, 100, 1), false), 200);
        check::expect_equal(
            memory_needed_bytes(with(Pattern::compare_and_swap_latency, 8, 1), false), 24);
    });
    check::test("each thread needs memory of its own and has it", [] {
        Case measured = with(Pattern::threads_bandwidth, 100, 4);
        measured.threads = 3;
        check::expect_equal(memory_needed_bytes(measured, false), 3 * 500);
        check::expect_equal(payload_of_operation_bytes(measured), 3 * 400);
        const Messages messages(measured, false, nullptr);
        check::expect(messages.slots(1).incoming(0) - messages.slots(0).incoming(3) >= 100);
        check::expect(messages.slots(2).incoming(0) - messages.slots(1).incoming(3) >= 100);
    });
    check::test("a compare-and-swap finds in a fresh window what it compares with", [] {
        std::byte window[8] = {};
        const Case measured = with(Pattern::compare_and_swap_latency, 8, 1);
        const Messages target(measured, false, window);
        const Messages origin(measured, false, nullptr);
        check::expect(std::memcmp(window, origin.slots().reply, 8) == 0);
        check::expect(origin.slots().reply != origin.slots().out);
        check::expect(origin.slots().reply != origin.slots().in);
    });
    check::test("this machine says how much memory is available", [] {
        check::expect(memory_available_bytes().value_or(0) > 0);
    });
    return check::outcome();
}
