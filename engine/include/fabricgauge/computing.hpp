// Computing of a known length, beside which a non-blocking operation may go on.
//
// A fixed amount of arithmetic, not a wait for the clock: processor time that a message layer's
// threads take makes it longer. Nothing in it calls the message layer.
#pragma once

#include <algorithm>
#include <cstdint>

#include "fabricgauge/moments.hpp"

namespace fabricgauge {

// That many dependent steps; keep the result, or a compiler may leave them out.
std::uint64_t arithmetic(std::int64_t steps) noexcept;

template <typename Clock>
class Computing {
public:
    explicit Computing(const Clock& clock) : clock_(clock) {}

    // Finds out how fast this processor is.
    void calibrate() {
        if constexpr (!Sleeps<Clock>::value) {
            // The fastest of some: an interrupt only adds.
            for (int i = 0; i < trials; ++i) {
                const std::int64_t began_ns = clock_.now_ns();
                kept_ = arithmetic(trial_steps);
                const std::int64_t took_ns = std::max<std::int64_t>(clock_.now_ns() - began_ns, 1);
                steps_per_ns_ = std::max(steps_per_ns_, static_cast<double>(trial_steps) /
                                                            static_cast<double>(took_ns));
            }
        }
    }

    void run(std::int64_t length_ns) {
        if constexpr (Sleeps<Clock>::value)
            clock_.sleep_until_ns(clock_.now_ns() + length_ns);
        else
            kept_ = arithmetic(
                static_cast<std::int64_t>(static_cast<double>(length_ns) * steps_per_ns_));
    }

    std::int64_t timed_ns(std::int64_t length_ns) {
        const std::int64_t began_ns = clock_.now_ns();
        run(length_ns);
        return clock_.now_ns() - began_ns;
    }

private:
    static constexpr int trials = 9;
    static constexpr std::int64_t trial_steps = 20'000;

    const Clock& clock_;
    double steps_per_ns_ = 0.0;
    volatile std::uint64_t kept_ = 0;
};

}  // namespace fabricgauge
