// A launch whose data go over verbs, and all else over MPI.
#pragma once

#include <string>

#include "fabricgauge/options.hpp"

namespace fabricgauge {

// Throws RdmaError before MPI has started: where the port cannot be used, and where the engine was
// built without verbs.
int run_verbs_launch(int argc, char** argv, const Options& options, const std::string& interface);

}  // namespace fabricgauge
