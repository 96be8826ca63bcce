#include "mpi_beside.hpp"

#if __has_include(<rdma/fabric.h>) && !defined(FABRICGAUGE_SIMULATED)

#include "fabricgauge/ofi_transport.hpp"
#include "mpi_running.hpp"

namespace fabricgauge {

int run_ofi_launch(int argc, char** argv, const Options& options, const LocalAddress& own) {
    const OfiLibrary library = load_ofi();
    const OfiDomain domain(library, options.ofi, own);
    return run_session<OfiTransport<MpiTransport>>(argc, argv, options, own.interface, domain);
}

}  // namespace fabricgauge

#else

namespace fabricgauge {

int run_ofi_launch(int, char**, const Options&, const LocalAddress&) {
    throw OfiError("this engine was built without libfabric: install its header (Debian's"
                   " libfabric-dev, Red Hat's libfabric-devel) and build it again:"
                   " fabricgauge engine build");
}

}  // namespace fabricgauge

#endif
