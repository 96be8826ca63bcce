// Exit statuses of the engine; 64 to 75 have the meaning of BSD's sysexits.h.
#pragma once

namespace fabricgauge {

constexpr int exit_usage = 64;
constexpr int exit_no_interface = 69;
constexpr int exit_mpi = 70;
constexpr int exit_output = 74;
constexpr int exit_timeout = 75;

}  // namespace fabricgauge
