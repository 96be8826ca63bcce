#include "fabricgauge/messages.hpp"

#include <cstdint>

#include "check.hpp"

using namespace fabricgauge;

namespace {

Case with(Pattern pattern, std::int64_t bytes, std::int64_t window) {
    return {"a", pattern, bytes, window, 0, 1, 1.0};
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
    check::test("with separate buffers what is sent is never received into", [] {
        const Messages messages(with(Pattern::latency, 100, 1), false, nullptr,
                                PingPongBuffers::separate);
        check::expect(messages.slots().incoming(0) != messages.slots().outgoing(0));
        check::expect(messages.slots().reply == messages.slots().outgoing(0));
    });
    check::test("when data are checked, the target returns what it received", [] {
        const Messages messages(with(Pattern::latency, 100, 1), true, nullptr,
                                PingPongBuffers::separate);
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
        check::expect_equal(memory_needed_bytes(with(Pattern::latency, 100, 1), false,
                                                PingPongBuffers::separate),
                            200);
        check::expect_equal(memory_needed_bytes(with(Pattern::bandwidth, 100, 4), false), 500);
        check::expect_equal(memory_needed_bytes(with(Pattern::bandwidth, 100, 4), true), 800);
        check::expect_equal(memory_needed_bytes(with(Pattern::put_bandwidth, 100, 4), false), 500);
    });
    check::test("this machine says how much memory is available", [] {
        check::expect(memory_available_bytes().value_or(0) > 0);
    });
    return check::outcome();
}
