#include "mpi_launch.hpp"

#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/exit_status.hpp"
#include "fabricgauge/launch.hpp"
#include "fabricgauge/pin.hpp"
#include "host.hpp"
#include "mpi_collectives.hpp"
#include "mpi_group.hpp"
#include "mpi_traffic.hpp"
#include "mpi_transport.hpp"

namespace fabricgauge {

namespace {

void run_cases(MpiTransport& transport, const std::vector<Case>& cases, const Options& options,
               const std::string& interface) {
    const ClockQuality clock = Host::clock_quality();
    const StoppingOptions& stop = options.stopping;
    const LaunchSettings settings{{stop.relative_half_width, stop.confidence, stop.iterations,
                                   clock.overhead_s, options.check_data},
                                  clock, options.buffers, options.grace_s, interface};
    const auto output = transport.rank() == 0 ? std::make_unique<Output>(options.output) : nullptr;
    Launch<MpiTransport, Host>(transport, output.get(), settings).run(cases);
}

int read_and_run(MpiTransport& transport, const Options& options, const std::string& interface) {
    std::string text;
    if (transport.rank() == 0) text = read_case_list(std::cin);
    transport.broadcast(text);
    try {
        run_cases(transport, parse_case_list(text), options, interface);
        return 0;
    } catch (const CaseListError& error) {
        return transport.rank() == 0 ? complain(error) : exit_case_list;
    }
}

}  // namespace

int complain(const std::exception& error) {
    const Failure failure = failure_of(error);
    std::fprintf(stderr, "fabricgauge-engine: %s\n", failure.text.c_str());
    return failure.status;
}

int run_mpi_launch(int argc, char** argv, const Options& options) {
    const std::string interface = pin(options.pin);
    MpiSession session(&argc, &argv, options.thread_multiple);
    try {
        MpiTransport transport;
        return session.finish_with(read_and_run(transport, options, interface));
    } catch (const std::exception& error) {
        MpiTransport::abort(complain(error));
    }
}

}  // namespace fabricgauge
