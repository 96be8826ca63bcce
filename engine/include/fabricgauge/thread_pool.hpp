// Threads that sleep until they are all to do one thing at once.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace fabricgauge {

// The thread that makes the pool is its member 0, and works along.
class ThreadPool {
public:
    explicit ThreadPool(int members);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int members() const noexcept { return static_cast<int>(others_.size()) + 1; }

    // Each member calls `work` with its number; they begin together, when all are awake. Returns
    // when all have ended, and throws the error of the first that failed.
    void run(const std::function<void(int member)>& work);

private:
    void serve(int member);
    void take_part(int member);
    void remember(std::exception_ptr error);

    std::mutex mutex_;
    std::condition_variable called_;
    std::condition_variable ended_;
    const std::function<void(int)>* work_ = nullptr;
    std::int64_t calls_ = 0;
    int working_ = 0;
    bool dismissed_ = false;
    std::exception_ptr error_;
    std::atomic<int> awake_{0};
    std::vector<std::thread> others_;
};

}  // namespace fabricgauge
