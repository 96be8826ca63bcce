// A launch over MPI, from the options to the exit status.
#pragma once

#include <exception>
#include <string>

#include "fabricgauge/options.hpp"

namespace fabricgauge {

// Writes the host and the error to standard error; returns the exit status of that error.
int complain(const std::exception& error, const std::string& host = "");

// Pins, starts MPI, reads the cases on rank 0 and runs them. Throws OptionsError and PinError before
// MPI has started; after that a failure ends every rank.
int run_mpi_launch(int argc, char** argv, const Options& options);

}  // namespace fabricgauge
