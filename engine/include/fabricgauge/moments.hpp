// Waiting for a moment on the own clock.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

namespace fabricgauge {

// A simulated clock stands still while a program reads it: it must be advanced explicitly.
template <typename Clock, typename = void>
struct Sleeps : std::false_type {};
template <typename Clock>
struct Sleeps<Clock, std::void_t<decltype(std::declval<const Clock&>().sleep_until_ns(0))>>
    : std::true_type {};

// Returns the reading that ended the wait.
template <typename Clock>
std::int64_t wait_until(const Clock& clock, std::int64_t due_ns) {
    if constexpr (Sleeps<Clock>::value) {
        if (clock.now_ns() < due_ns) clock.sleep_until_ns(due_ns);
        return clock.now_ns();
    } else {
        std::int64_t now_ns = clock.now_ns();
        while (now_ns < due_ns) now_ns = clock.now_ns();
        return now_ns;
    }
}

}  // namespace fabricgauge
