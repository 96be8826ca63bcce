#include "mpi_beside.hpp"

#include "fabricgauge/rdma_ports.hpp"

#if __has_include(<infiniband/verbs.h>) && !defined(FABRICGAUGE_SIMULATED)

#include "fabricgauge/verbs_transport.hpp"
#include "mpi_running.hpp"

namespace fabricgauge {

int run_verbs_launch(int argc, char** argv, const Options& options, const LocalAddress& own) {
    const VerbsOptions& asked = options.verbs;
    const RdmaPort port = choose_port(read_rdma_ports(), asked.ports);
    const Gid gid = choose_gid(port, asked.gid_index, asked.gid_subnet);
    const VerbsLibrary library = load_verbs();
    const VerbsDevice device(library, port, gid, asked);
    return run_session<VerbsTransport<MpiTransport>>(argc, argv, options, own.interface, device);
}

}  // namespace fabricgauge

#else

namespace fabricgauge {

int run_verbs_launch(int, char**, const Options&, const LocalAddress&) {
    throw RdmaError("this engine was built without verbs: install their header (Debian's"
                    " libibverbs-dev, Red Hat's rdma-core-devel) and build it again:"
                    " fabricgauge engine build");
}

}  // namespace fabricgauge

#endif
