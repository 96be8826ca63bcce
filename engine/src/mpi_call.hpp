// The check of every call of MPI.
#pragma once

#include <mpi.h>

namespace fabricgauge {

// Throws a TransportError that names the call, the error's class and the library's own text.
[[noreturn]] void fail_mpi_call(int code, const char* call);

inline void require_success(int code, const char* call) {
    if (code != MPI_SUCCESS) fail_mpi_call(code, call);
}

}  // namespace fabricgauge
