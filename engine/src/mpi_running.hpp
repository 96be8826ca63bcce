// A launch over MPI from its start to its end, whatever carries the data.
#pragma once

#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/exit_status.hpp"
#include "fabricgauge/launch.hpp"
#include "host.hpp"
#include "mpi_launch.hpp"
#include "mpi_transport.hpp"

namespace fabricgauge {

template <typename Transport>
void run_cases(Transport& transport, const std::vector<Case>& cases, const Options& options,
               const std::string& interface) {
    const ClockQuality clock = Host::clock_quality();
    const StoppingOptions& stop = options.stopping;
    const LaunchSettings settings{{stop.relative_half_width, stop.confidence, stop.iterations,
                                   clock.overhead_s, options.check_data},
                                  clock, options.buffers, options.grace_s, interface};
    const auto output = transport.rank() == 0 ? std::make_unique<Output>(options.output) : nullptr;
    Launch<Transport, Host>(transport, output.get(), settings).run(cases);
}

template <typename Transport>
int read_and_run(Transport& transport, const Options& options, const std::string& interface) {
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

// With the transport that is made of `rest`. A failure ends every rank.
template <typename Transport, typename... Rest>
int run_session(int argc, char** argv, const Options& options, const std::string& interface,
                const Rest&... rest) {
    MpiSession session(&argc, &argv, options.thread_multiple);
    try {
        Transport transport(rest...);
        return session.finish_with(read_and_run(transport, options, interface));
    } catch (const std::exception& error) {
        MpiTransport::abort(complain(error));
    }
}

}  // namespace fabricgauge
