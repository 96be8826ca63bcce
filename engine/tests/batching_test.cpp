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
        check::expect_equal(block_samples_for(10e-6, 1.0, 8), 100);
        check::expect_equal(block_samples_for(0.5, 1.0, 8), 1);
        check::expect_equal(block_samples_for(0.0, 1.0, 8), longest_block_samples);
    });
    check::test("a block of short messages has 64 samples, one of long messages need not", [] {
        check::expect_equal(block_samples_for(200e-6, 1.0, 8192), 64);
        check::expect_equal(block_samples_for(200e-6, 1.0, 8193), 5);
    });
    check::test("a small budget shortens the blocks", [] {
        check::expect_equal(block_samples_for(10e-6, 0.0032, 65536), 10);
        check::expect_equal(block_samples_for(10e-6, 0.0032, 8), 20);
        check::expect_equal(block_samples_for(2e-3, 0.3, 8), 9);
    });
    check::test("a few waits do not hide what a sample takes", [] {
        std::vector<std::int64_t> samples_ps(20, 500'000);
        samples_ps[0] = 20'000;
        for (int i = 1; i < 15; ++i) samples_ps[i] = 9'000'000'000;
        check::expect_near(undisturbed_s(samples_ps), 500e-9, 1e-15);
        check::expect_near(undisturbed_s({700}), 700e-12, 1e-18);
    });
    return check::outcome();
}
