// fabricgauge-engine-soak --seconds S --bytes N --period-us N [--interval S] [--threshold FACTOR]
//                         [--pin SUBNET] [--interface-env NAME]...
//
// Keeps a stream and a ping-pong up between neighbours in the order of ranks, the first after the
// last. Each period every rank sends N bytes to the next rank, which acknowledges them, and half a
// period later 8 bytes. Each interval it writes a record of the message times to standard output,
// with slow messages, what is under way, and what the node's counters did.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "fabricgauge/exit_status.hpp"
#include "fabricgauge/pin.hpp"
#include "mpi_watch.hpp"
#include "soak.hpp"

namespace {

int complain(const std::exception& error) {
    const fabricgauge::Failure failure = fabricgauge::failure_of(error);
    std::fprintf(stderr, "fabricgauge-engine: %s\n", failure.text.c_str());
    return failure.status;
}

}  // namespace

int main(int argc, char** argv) {
    using namespace fabricgauge;
    soak::SoakOptions options;
    try {
        options = soak::parse_soak_options({argv + 1, argv + argc});
        pin(options.pin);
    } catch (const std::exception& error) {
        return complain(error);
    }
    MPI_Init(&argc, &argv);
    try {
        soak::watch(options.pace);
    } catch (const std::exception& error) {
        const int status = complain(error);
        usleep(200'000);  // a launcher that is told to abort may drop what was said last
        MPI_Abort(MPI_COMM_WORLD, status);
    }
    MPI_Finalize();
    return 0;
}
