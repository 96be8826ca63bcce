#include "fabricgauge/sockets_transport.hpp"
#include "mpi_beside.hpp"
#include "mpi_running.hpp"

namespace fabricgauge {

int run_sockets_launch(int argc, char** argv, const Options& options, const LocalAddress& own) {
    return run_session<SocketsTransport<MpiTransport>>(argc, argv, options, own.interface, own,
                                                       options.sockets_traffic_class);
}

}  // namespace fabricgauge
