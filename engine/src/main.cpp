#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "fabricgauge/exit_status.hpp"
#include "fabricgauge/launch.hpp"
#include "fabricgauge/options.hpp"
#include "fabricgauge/pin.hpp"
#include "fabricgauge/version.hpp"
#include "mpi_transport.hpp"

namespace {

using namespace fabricgauge;

int complain(int status, const std::exception& error) {
    std::fprintf(stderr, "fabricgauge-engine: %s\n", error.what());
    return status;
}

int print_version() {
    const MpiVersion mpi = mpi_version();
    std::printf("fabricgauge-engine %s, format %s, MPI %s, %s\n", engine_version, format_version,
                mpi.standard.c_str(), mpi.library.c_str());
    return 0;
}

int launch(MpiTransport& transport, const Options& options, const std::string& interface) {
    std::string text;
    if (transport.rank() == 0) text = read_case_list(std::cin);
    transport.broadcast(text);
    std::vector<Case> cases;
    try {
        cases = parse_case_list(text);
    } catch (const CaseListError& error) {
        return transport.rank() == 0 ? complain(exit_usage, error) : exit_usage;
    }
    const ClockQuality clock = measure_clock({});
    const StoppingOptions& stop = options.stopping;
    const LaunchSettings settings{{stop.relative_half_width, stop.confidence, stop.iterations,
                                   clock.overhead_s, options.check_data},
                                  clock, options.grace_s, interface};
    const auto output =
        transport.rank() == 0 ? std::make_unique<Output>(options.output) : nullptr;
    Launch<MpiTransport>(transport, output.get(), settings).run(cases);
    return 0;
}

int start(int argc, char** argv) {
    const Options options = parse_options({argv + 1, argv + argc});
    if (options.version) return print_version();
    const std::string interface = pin(options.pin);
    const MpiSession session(&argc, &argv);
    try {
        MpiTransport transport;
        return launch(transport, options, interface);
    } catch (const MpiError& error) {
        MpiTransport::abort(complain(exit_mpi, error));
    } catch (const std::system_error& error) {
        MpiTransport::abort(complain(exit_output, error));
    } catch (const std::exception& error) {
        MpiTransport::abort(complain(exit_mpi, error));
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return start(argc, argv);
    } catch (const OptionsError& error) {
        return complain(exit_usage, error);
    } catch (const PinError& error) {
        return complain(exit_no_interface, error);
    }
}
