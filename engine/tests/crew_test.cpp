#include "fabricgauge/crew.hpp"

#include <atomic>
#include <stdexcept>
#include <vector>

#include "check.hpp"

using fabricgauge::Crew;

int main() {
    check::test("each member works once in each run", [] {
        Crew crew(4);
        std::vector<std::atomic<int>> times(4);
        for (int run = 0; run < 100; ++run) crew.run([&](int member) { ++times[member]; });
        for (const auto& each : times) check::expect_equal(each.load(), 100);
    });
    check::test("a run returns when the last has ended", [] {
        Crew crew(3);
        std::atomic<int> ended{0};
        crew.run([&](int member) {
            for (int i = 0; i < member * 100; ++i) std::this_thread::yield();
            ++ended;
        });
        check::expect_equal(ended.load(), 3);
    });
    check::test("a crew of one is the calling thread", [] {
        Crew crew(1);
        const std::thread::id own = std::this_thread::get_id();
        crew.run([&](int) { check::expect(std::this_thread::get_id() == own); });
    });
    check::test("what a member throws is thrown, and the crew goes on", [] {
        Crew crew(3);
        check::expect_error<std::runtime_error>(
            [&] {
                crew.run([](int member) {
                    if (member == 2) throw std::runtime_error("the second failed");
                });
            },
            "the second failed");
        std::atomic<int> worked{0};
        crew.run([&](int) { ++worked; });
        check::expect_equal(worked.load(), 3);
    });
    return check::outcome();
}
