#include "fabricgauge/losses.hpp"

#include "check.hpp"

using namespace fabricgauge;

namespace {

Sockets sent(std::uint64_t inode, std::int64_t segments, std::int64_t again) {
    SocketState state;
    state.data_segments = segments;
    state.retransmitted_segments = again;
    return {{inode, state}};
}

Case ping_pong(std::int64_t bytes) {
    Case measured;
    measured.pattern = Pattern::latency;
    measured.message_bytes = bytes;
    measured.budget_s = 4.0;
    measured.clock = ClockChoice::best;
    return measured;
}

Case with_window() {
    Case measured = ping_pong(8);
    measured.pattern = Pattern::bandwidth;
    return measured;
}

}  // namespace

int main() {
    check::test("losses are heavy from half a percent, and 5 segments, of what one connection sent", [] {
        Losses losses;
        check::expect(!losses.heavy());
        losses.add(ping_pong(8), sent(1, 100, 4));
        losses.add(ping_pong(8), sent(2, 10'000, 4));
        check::expect(!losses.heavy());
        losses.add(ping_pong(8), sent(1, 0, 1));
        check::expect(losses.heavy());
        losses.add(ping_pong(8), sent(1, 1'000, 0));
        check::expect(!losses.heavy());
    });
    check::test("what a full queue drops is no loss of the way", [] {
        Losses losses;
        losses.add(with_window(), sent(1, 100, 50));
        losses.add(ping_pong(4097), sent(1, 100, 50));
        Case loaded = ping_pong(8);
        loaded.load = Load::all_to_all;
        losses.add(loaded, sent(1, 100, 50));
        check::expect(!losses.heavy());
        losses.add(ping_pong(4096), sent(1, 100, 50));
        check::expect(losses.heavy());
    });
    check::test("what had arrived and was sent again, as a busy host answers late, is no loss", [] {
        Losses losses;
        Sockets late = sent(1, 100, 50);
        late[1].spurious_segments = 46;
        losses.add(ping_pong(8), late);
        check::expect(!losses.heavy());
        losses.add(ping_pong(8), sent(1, 0, 1));
        check::expect(losses.heavy());
    });
    check::test("without agreed losses every size is measured as planned", [] {
        Losses losses;
        for (const std::int64_t bytes : {1, 2, 4, 8}) check::expect(!losses.spares(ping_pong(bytes)));
        const Case timed = losses.in_time_for(ping_pong(8));
        check::expect_equal(timed.budget_s, 4.0);
        check::expect(!timed.losing && timed.clock == ClockChoice::best);
    });
    check::test("where frames are lost each series has one size in three, in a quarter of the time", [] {
        Losses losses;
        losses.agree(true);
        int measured = 0, streamed = 0;
        for (int size = 0; size < 9; ++size) {
            measured += losses.spares(ping_pong(1 << size)) ? 0 : 1;
            streamed += losses.spares(with_window()) ? 0 : 1;
        }
        check::expect_equal(measured, 3);
        check::expect_equal(streamed, 3);
        const Case timed = losses.in_time_for(ping_pong(8));
        check::expect_equal(timed.budget_s, 1.0);
        check::expect(timed.losing && timed.clock == ClockChoice::barrier);
    });
    return check::outcome();
}
