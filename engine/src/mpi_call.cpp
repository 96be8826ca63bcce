#include "mpi_call.hpp"

#include <string>

namespace fabricgauge {

void fail_mpi_call(int code, const char* call) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw MpiError(std::string(call) + " failed: " + text);
}

}  // namespace fabricgauge
