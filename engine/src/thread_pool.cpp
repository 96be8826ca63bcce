#include "fabricgauge/thread_pool.hpp"

#include "fabricgauge/processors.hpp"

namespace fabricgauge {

ThreadPool::ThreadPool(int members) {
    for (int member = 1; member < members; ++member)
        others_.emplace_back([this, member] { serve(member); });
}

ThreadPool::~ThreadPool() {
    {
        const std::lock_guard lock(mutex_);
        dismissed_ = true;
    }
    called_.notify_all();
    for (std::thread& other : others_) other.join();
}

void ThreadPool::run(const std::function<void(int)>& work) {
    {
        const std::lock_guard lock(mutex_);
        work_ = &work;
        working_ = static_cast<int>(others_.size());
        awake_ = 0;
        error_ = nullptr;
        ++calls_;
    }
    called_.notify_all();
    take_part(0);
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return working_ == 0; });
    if (error_) std::rethrow_exception(error_);
}

void ThreadPool::serve(int member) {
    std::int64_t answered = 0;
    for (;;) {
        {
            std::unique_lock lock(mutex_);
            called_.wait(lock, [&] { return dismissed_ || calls_ > answered; });
            if (dismissed_) break;
            answered = calls_;
        }
        take_part(member);
        {
            const std::lock_guard lock(mutex_);
            --working_;
        }
        ended_.notify_one();
    }
    keep_run_delay_of_this_thread();
}

// With fewer processors than members, those that are awake make room for the others.
void ThreadPool::take_part(int member) {
    ++awake_;
    while (awake_ < members()) std::this_thread::yield();
    try {
        (*work_)(member);
    } catch (...) {
        remember(std::current_exception());
    }
}

void ThreadPool::remember(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
}

}  // namespace fabricgauge
