// Ends a launch whose case does not: a timer of the kernel, whose signal ends the process.
//
// No thread: MPI_Init promises MPI that there is but one (MPI_THREAD_SINGLE), whatever the others do.
#pragma once

#include <ctime>
#include <string>

#include "fabricgauge/output.hpp"

namespace fabricgauge {

// What the process says as it ends, and its exit status. `output` is null where there is no record.
struct LastWords {
    int status;
    std::string message;
    const Output* output = nullptr;
    std::string record;
};

// There is one at a time in a process.
class Watchdog {
public:
    // Throws std::system_error if the kernel has no timer left.
    Watchdog();
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    // What to say from now on. Only while disarmed.
    void prepare(LastWords words);
    // The process ends after `seconds`, unless it is disarmed or armed again before. It then writes
    // the record and the message, and runs nothing else.
    void arm(double seconds);
    void disarm();

private:
    timer_t timer_{};
};

}  // namespace fabricgauge
