// The number of times that a process got a processor, and the time that it was ready to run but had
// none.
#pragma once

#include <cstdint>

namespace fabricgauge {

// The waits of the reading thread, since it began, or between two readings.
struct Waits {
    std::int64_t turns = 0;
    std::int64_t waited_ns = 0;

    Waits operator+(const Waits& other) const noexcept {
        return {turns + other.turns, waited_ns + other.waited_ns};
    }
    Waits operator-(const Waits& other) const noexcept {
        return {turns - other.turns, waited_ns - other.waited_ns};
    }
};

using ReadWaits = Waits (*)();

// Time that the main thread was ready to run but had no processor; -1 where the kernel does not count
// it. For a signal handler, too.
std::int64_t waited_by_main_thread_ns() noexcept;

// Of a rank's time: if it waited longer, waits made its samples. As in the rule host-limited.
constexpr double longest_waiting_share = 0.25;

inline Waits no_waits() { return {}; }
// From the kernel's schedstat; zeros where it does not count.
Waits waits_of_this_thread();

// Move the calling thread to another of its processors, if it has any. Two ranks that came to share
// one answer each other only every other time slice, and the kernel may leave them there for seconds.
void leave_processor() noexcept;

// Return true if waiting determines the samples' median: the ranks waited for a quarter of the time
// or longer, and so often that half of the samples may contain a wait. Fewer waits do not change
// the median, however long they are.
bool waits_made_median(const Waits& waits, std::int64_t samples, double measured_s) noexcept;

}  // namespace fabricgauge
