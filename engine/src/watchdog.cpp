#include "fabricgauge/watchdog.hpp"

#include <utility>

namespace fabricgauge {

Watchdog::Watchdog() : thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void Watchdog::arm(double seconds, std::function<void()> on_expiry) {
    {
        const std::lock_guard lock(mutex_);
        on_expiry_ = std::move(on_expiry);
        deadline_ = std::chrono::steady_clock::now() +
                    std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                        std::chrono::duration<double>(seconds));
    }
    changed_.notify_one();
}

void Watchdog::disarm() {
    const std::lock_guard lock(mutex_);
    deadline_.reset();
}

void Watchdog::watch() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
        if (!deadline_) {
            changed_.wait(lock);
        } else if (std::chrono::steady_clock::now() >= *deadline_) {
            deadline_.reset();
            on_expiry_();
        } else {
            const auto deadline = *deadline_;
            changed_.wait_until(lock, deadline);
        }
    }
}

}  // namespace fabricgauge
