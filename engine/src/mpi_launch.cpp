#include "mpi_launch.hpp"

#include <cstdio>

#include "fabricgauge/pin.hpp"
#include "mpi_collectives.hpp"
#include "mpi_group.hpp"
#include "mpi_running.hpp"
#include "mpi_traffic.hpp"
#include "mpi_verbs.hpp"

namespace fabricgauge {

int complain(const std::exception& error) {
    const Failure failure = failure_of(error);
    std::fprintf(stderr, "fabricgauge-engine: %s\n", failure.text.c_str());
    return failure.status;
}

int run_mpi_launch(int argc, char** argv, const Options& options) {
    const std::string interface = pin(options.pin);
    if (options.verbs) return run_verbs_launch(argc, argv, options, interface);
    return run_session<MpiTransport>(argc, argv, options, interface);
}

}  // namespace fabricgauge
