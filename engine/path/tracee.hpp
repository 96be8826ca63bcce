// A child process that is traced: started, stepped and read. No privilege is needed for it.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace fabricgauge::path {

using Registers = user_regs_struct;

// The system does not let this process trace its own child.
class NotPermitted : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// How the child ended, as a shell tells it: 128 and the signal's number if it was killed.
struct Ended {
    int status;
};

class Tracee {
public:
    // Starts a program, stopped before its first instruction. It dies with this process.
    // Throws NotPermitted, or std::system_error where it cannot be started.
    explicit Tracee(const std::vector<std::string>& argv);
    Tracee(const Tracee&) = delete;
    Tracee& operator=(const Tracee&) = delete;
    ~Tracee();

    pid_t pid() const noexcept { return pid_; }

    // Each runs the child until it traps; signals are passed on to it. They throw Ended.
    void run();
    void step();
    // Runs to an address that is reached soon by no other way than straight on.
    void run_to(std::uint64_t address);

    Registers registers() const;
    // How many of the bytes could be read.
    std::size_t read(std::uint64_t address, void* into, std::size_t bytes) const;
    // How many signals were passed on so far.
    std::int64_t signals() const noexcept { return signals_; }

private:
    void resume(int request);

    pid_t pid_ = -1;
    int pending_signal_ = 0;
    std::int64_t signals_ = 0;
};

}  // namespace fabricgauge::path
