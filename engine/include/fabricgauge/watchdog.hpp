// Ends a launch whose case does not: a timer of the kernel, whose signal ends the process.
//
// No thread: MPI_Init promises MPI that there is but one (MPI_THREAD_SINGLE), whatever the others do.
#pragma once

#include <ctime>
#include <string>

#include "fabricgauge/output.hpp"

namespace fabricgauge {

// A message, and the record for the output, each maybe empty.
struct LastLines {
    std::string message;
    std::string record;
};

// The last message of the process, and its exit status. `output` is null without a record.
struct LastWords {
    int status;
    std::string message;
    const Output* output = nullptr;
    std::string record;
    // Take the place of both if the main thread waited for a processor for longest_waiting_share of
    // the time since the watchdog was armed, and have a message then.
    LastLines if_waiting = {};
};

// There is one at a time in a process.
class Watchdog {
public:
    // Throws std::system_error if the kernel has no timer left.
    Watchdog();
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    // Set the message for the next failure. Only while disarmed.
    void prepare(LastWords words);
    // The process ends after `seconds`, unless it is disarmed or armed again before. It then writes
    // the record and the message, and runs nothing else.
    void arm(double seconds);
    void disarm();

private:
    timer_t timer_{};
};

}  // namespace fabricgauge
