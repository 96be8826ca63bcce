#include <cstdio>
#include <exception>

#include "fabricgauge/options.hpp"
#include "fabricgauge/version.hpp"
#include "mpi_launch.hpp"
#include "mpi_transport.hpp"

namespace {

using namespace fabricgauge;

int print_version() {
    const MpiVersion mpi = mpi_version();
    std::printf("fabricgauge-engine %s, format %s, MPI %s, %s\n", engine_version, format_version,
                mpi.standard.c_str(), mpi.library.c_str());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const Options options = parse_options({argv + 1, argv + argc});
        return options.version ? print_version() : run_mpi_launch(argc, argv, options);
    } catch (const std::exception& error) {
        return complain(error);
    }
}
