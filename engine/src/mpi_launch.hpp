// A launch over MPI, from the options to the exit status.
#pragma once

#include <exception>
#include <string>

#include "fabricgauge/options.hpp"

namespace fabricgauge {

// Says the error on standard error, and of which host it is; returns the status that goes with it.
int complain(const std::exception& error, const std::string& host = "");

// Pins, starts MPI, reads the cases on rank 0 and runs them. Throws OptionsError and PinError before
// MPI has started; after that a failure ends every rank.
int run_mpi_launch(int argc, char** argv, const Options& options);

}  // namespace fabricgauge
