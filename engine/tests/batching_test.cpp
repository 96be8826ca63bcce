#include "fabricgauge/batching.hpp"

#include "check.hpp"

using namespace fabricgauge;

int main() {
    check::test("a long operation is a sample of its own", [] {
        check::expect_equal(batch_for(10e-6, 25e-9), 1);
    });
    check::test("a short one is repeated until the clock takes at most 1 %", [] {
        const std::int64_t batch = batch_for(0.3e-6, 25e-9);
        check::expect(25e-9 / (static_cast<double>(batch) * 0.3e-6) <= largest_clock_share);
        check::expect(25e-9 / (static_cast<double>(batch - 1) * 0.3e-6) > largest_clock_share);
    });
    check::test("an operation that takes no time ends in a bounded batch", [] {
        check::expect(batch_for(0.0, 25e-9) <= longest_batch);
    });
    check::test("blocks last about a millisecond, or one sample", [] {
        check::expect_equal(block_samples_for(10e-6, 1.0), 100);
        check::expect_equal(block_samples_for(0.5, 1.0), 1);
        check::expect_equal(block_samples_for(0.0, 1.0), longest_block_samples);
    });
    check::test("a small budget shortens the blocks", [] {
        check::expect_equal(block_samples_for(10e-6, 0.0032), 10);
    });
    return check::outcome();
}
