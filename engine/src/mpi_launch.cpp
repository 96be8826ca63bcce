#include "mpi_launch.hpp"

#include <cstdio>

#include "fabricgauge/pin.hpp"
#include "mpi_beside.hpp"
#include "mpi_collectives.hpp"
#include "mpi_group.hpp"
#include "mpi_running.hpp"
#include "mpi_traffic.hpp"

namespace fabricgauge {

int complain(const std::exception& error, const std::string& host) {
    const Failure failure = failure_of(error);
    std::fprintf(stderr, "fabricgauge-engine: %s%s%s\n", host.c_str(), host.empty() ? "" : ": ",
                 failure.text.c_str());
    return failure.status;
}

int run_mpi_launch(int argc, char** argv, const Options& options) {
    if (Host::simulated && options.memory.on_device())
        throw OptionsError("--memory: simulated ranks have host memory only");
    const LocalAddress own = pin(options.pin);
    switch (options.transport) {
        case Carrier::sockets: return run_sockets_launch(argc, argv, options, own);
        case Carrier::ofi: return run_ofi_launch(argc, argv, options, own);
        case Carrier::verbs: return run_verbs_launch(argc, argv, options, own);
        case Carrier::mpi: break;
    }
    return run_session<MpiTransport>(argc, argv, options, own.interface);
}

}  // namespace fabricgauge
