// What every call of MPI is checked with.
#pragma once

#include <mpi.h>

#include <stdexcept>

namespace fabricgauge {

// Names the call and carries the library's own text.
class MpiError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

[[noreturn]] void fail_mpi_call(int code, const char* call);

inline void require_success(int code, const char* call) {
    if (code != MPI_SUCCESS) fail_mpi_call(code, call);
}

}  // namespace fabricgauge
