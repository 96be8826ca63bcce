#include "fabricgauge/start_window.hpp"

#include "check.hpp"

using namespace fabricgauge;

int main() {
    check::test("a window holds the operation, and more where starts overrun", [] {
        StartWindow window(10e-6, 100e-9);
        const std::int64_t first = window.length_ns();
        check::expect(first > 10'000 && first < 20'000);
        window.learn({100, 50, 50, 1000}, 10e-6);
        check::expect(window.length_ns() > first);
    });
    check::test("a window shrinks again, but never below the operation", [] {
        StartWindow window(10e-6, 100e-9);
        for (int i = 0; i < 6; ++i) window.learn({100, 50, 50, 1000}, 10e-6);
        const std::int64_t longest = window.length_ns();
        for (int i = 0; i < 200; ++i) window.learn({100, 0, 0, 1000}, 10e-6);
        check::expect(window.length_ns() < longest);
        check::expect(window.length_ns() > 10'000);
    });
    check::test("a window follows an operation that becomes slower", [] {
        StartWindow window(10e-6, 100e-9);
        window.learn({100, 0, 0, 1000}, 50e-6);
        check::expect(window.length_ns() > 50'000);
    });
    check::test("the first start is further ahead than the last rank was behind", [] {
        StartWindow window(1e-6, 100e-9);
        for (int i = 0; i < 20; ++i) window.learn({100, 0, 0, 700'000}, 1e-6);
        check::expect(window.lead_ns() > 700'000);
        for (int i = 0; i < 300; ++i) window.learn({100, 0, 0, 10'000}, 1e-6);
        check::expect(window.lead_ns() >= 20'000 && window.lead_ns() < 30'000);
    });
    check::test("a rank that is held up once does not put all starts off", [] {
        StartWindow window(1e-6, 100e-9);
        const std::int64_t before = window.lead_ns();
        window.learn({100, 100, 100, 20'000'000}, 1e-6);
        check::expect(window.lead_ns() <= 2 * before);
    });
    check::test("few late starts are no reason to give up", [] {
        StartWindow window(1e-6, 100e-9);
        for (int i = 0; i < 50; ++i) window.learn({100, 60, 10, 1000}, 1e-6);
        check::expect(!window.hopeless());
    });
    check::test("late starts shorten what is announced at once, good ones lengthen it", [] {
        StartWindow window(1e-6, 100e-9);
        window.learn({100, 80, 80, 1000}, 1e-6);
        check::expect_equal(window.most_samples(), 50);
        window.learn({50, 30, 30, 1000}, 1e-6);
        check::expect_equal(window.most_samples(), 25);
        window.learn({25, 5, 5, 1000}, 1e-6);
        check::expect_equal(window.most_samples(), 25);
        window.learn({25, 0, 0, 1000}, 1e-6);
        check::expect_equal(window.most_samples(), 50);
    });
    check::test("ranks that never run at once are hopeless, once each start was announced", [] {
        StartWindow window(1e-6, 100e-9);
        window.learn({64, 64, 1, 1000}, 1e-6);
        check::expect(!window.hopeless());
        for (int i = 0; i < 30; ++i) window.learn({1, 1, 0, 1000}, 1e-6);
        check::expect(window.hopeless());
    });
    return check::outcome();
}
