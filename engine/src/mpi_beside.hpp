// Launches whose data go beside MPI, which has all else.
//
// Each throws before MPI has started if a required part is not on this node, or was missing when
// the engine was built.
#pragma once

#include "fabricgauge/options.hpp"
#include "fabricgauge/pin.hpp"

namespace fabricgauge {

int run_sockets_launch(int argc, char** argv, const Options& options, const LocalAddress& own);
int run_ofi_launch(int argc, char** argv, const Options& options, const LocalAddress& own);
int run_verbs_launch(int argc, char** argv, const Options& options, const LocalAddress& own);

}  // namespace fabricgauge
