#include "fabricgauge/thread_pool.hpp"

#include <atomic>
#include <stdexcept>
#include <vector>

#include "check.hpp"

using fabricgauge::ThreadPool;

int main() {
    check::test("each member works once in each run", [] {
        ThreadPool pool(4);
        std::vector<std::atomic<int>> times(4);
        for (int run = 0; run < 100; ++run) pool.run([&](int member) { ++times[member]; });
        for (const auto& each : times) check::expect_equal(each.load(), 100);
    });
    check::test("a run returns when the last has ended", [] {
        ThreadPool pool(3);
        std::atomic<int> ended{0};
        pool.run([&](int member) {
            for (int i = 0; i < member * 100; ++i) std::this_thread::yield();
            ++ended;
        });
        check::expect_equal(ended.load(), 3);
    });
    check::test("a pool of one is the calling thread", [] {
        ThreadPool pool(1);
        const std::thread::id own = std::this_thread::get_id();
        pool.run([&](int) { check::expect(std::this_thread::get_id() == own); });
    });
    check::test("what a member throws is thrown, and the pool goes on", [] {
        ThreadPool pool(3);
        check::expect_error<std::runtime_error>(
            [&] {
                pool.run([](int member) {
                    if (member == 2) throw std::runtime_error("the second failed");
                });
            },
            "the second failed");
        std::atomic<int> worked{0};
        pool.run([&](int) { ++worked; });
        check::expect_equal(worked.load(), 3);
    });
    return check::outcome();
}
