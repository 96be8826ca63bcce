// Ends a launch whose case does not: a thread that sleeps until a deadline passes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace fabricgauge {

class Watchdog {
public:
    Watchdog();
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    // `on_expiry` runs on the watchdog's thread, once, unless disarmed before.
    void arm(double seconds, std::function<void()> on_expiry);
    // Waits for an expiry that has already begun.
    void disarm();

private:
    void watch();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<std::chrono::steady_clock::time_point> deadline_;
    std::function<void()> on_expiry_;
    bool ending_ = false;
    std::thread thread_;
};

}  // namespace fabricgauge
