// Exit statuses of the engine; 64 to 76 have the meaning of BSD's sysexits.h.
#pragma once

#include <exception>
#include <string>

namespace fabricgauge {

constexpr int exit_options = 64;       // EX_USAGE
constexpr int exit_case_list = 65;     // EX_DATAERR
constexpr int exit_no_interface = 69;  // EX_UNAVAILABLE
constexpr int exit_internal = 70;      // EX_SOFTWARE: a fault of the engine itself
constexpr int exit_system = 71;        // EX_OSERR: no memory, thread or timer left
constexpr int exit_output = 74;        // EX_IOERR
constexpr int exit_timeout = 75;       // EX_TEMPFAIL
constexpr int exit_mpi = 76;           // EX_PROTOCOL: a call of the message layer failed

// Why a launch ends before its footer.
struct Failure {
    int status;
    std::string text;
};

// By the error's type; an error without another status is a fault of the engine.
Failure failure_of(const std::exception& error);

}  // namespace fabricgauge
