#include "fabricgauge/recorder.hpp"

#include <array>

#include "check.hpp"

using namespace fabricgauge;

namespace {

void add_level(Recorder& recorder, std::int64_t ps) {
    const std::array<std::int64_t, 3> samples = {ps - 1, ps, ps + 1};
    recorder.add_block(samples.data(), samples.size());
}

}  // namespace

int main() {
    check::test("a planted warm-up is dropped and nothing else", [] {
        Recorder recorder(3);
        for (const std::int64_t ps : {90'000, 40'000, 12'000}) add_level(recorder, ps);
        for (int i = 0; i < 20; ++i) add_level(recorder, 10'000);
        recorder.settle();
        check::expect_equal(recorder.warmup_samples(), 9);
        check::expect_equal(recorder.samples(), 60);
        check::expect_equal(recorder.histogram().maximum_ps(), 10'001);
    });
    check::test("a level warm-up that ends in a step is dropped", [] {
        Recorder recorder(3);
        for (int i = 0; i < 11; ++i) add_level(recorder, 30'000);
        for (int i = 0; i < 13; ++i) add_level(recorder, 10'000);
        check::expect_equal(recorder.settled_medians_ps().size(), std::size_t{13});
        recorder.settle();
        check::expect_equal(recorder.warmup_samples(), 33);
    });
    check::test("a case in the middle of a step has not settled", [] {
        Recorder recorder(3);
        for (int i = 0; i < 11; ++i) add_level(recorder, 30'000);
        for (int i = 0; i < 9; ++i) add_level(recorder, 10'000);
        check::expect(recorder.settled_medians_ps().empty());
    });
    check::test("a long fall is dropped whole", [] {
        Recorder recorder(3);
        for (int i = 0; i < 30; ++i) add_level(recorder, 400'000 - 10'000 * i);
        for (int i = 0; i < 20; ++i) add_level(recorder, 50'000);
        recorder.settle();
        check::expect(recorder.warmup_samples() >= 28 * 3);
        check::expect_equal(recorder.warmup_samples() + recorder.samples(), 150);
    });
    check::test("nothing recorded is nothing kept", [] {
        Recorder recorder(3);
        recorder.settle();
        check::expect_equal(recorder.samples(), 0);
    });
    check::test("what waits is counted once", [] {
        Recorder recorder(3);
        add_level(recorder, 5000);
        check::expect_equal(recorder.samples(), 0);
        check::expect_equal(recorder.samples_waiting(), 3);
        recorder.settle();
        check::expect_equal(recorder.samples(), 3);
        check::expect_equal(recorder.samples_waiting(), 0);
    });
    check::test("block medians come from the blocks kept", [] {
        Recorder recorder(3);
        for (int i = 0; i < 70; ++i) add_level(recorder, 7000);
        check::expect(recorder.settled());
        check::expect_equal(recorder.blocks().blocks(), 70);
        check::expect_equal(recorder.samples(), 210);
        check::expect_near(recorder.blocks().medians_ps().front(), 7000.0, 0.0);
    });
    return check::outcome();
}
