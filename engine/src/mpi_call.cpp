#include "mpi_call.hpp"

#include <string>

#include "fabricgauge/transport.hpp"

namespace fabricgauge {

namespace {

std::string text_of(int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return text;
}

}  // namespace

// Libraries put the class first in the text of a code, or leave it out.
void fail_mpi_call(int code, const char* call) {
    int error_class = code;
    MPI_Error_class(code, &error_class);
    const std::string kind = text_of(error_class);
    const std::string text = text_of(code);
    throw TransportError(std::string(call) + " failed: " +
                         (text.find(kind) == 0 ? text : kind + ": " + text));
}

}  // namespace fabricgauge
