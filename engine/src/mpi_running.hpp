// A launch over MPI from its start to its end, whatever carries the data.
#pragma once

#include <algorithm>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/exit_status.hpp"
#include "fabricgauge/launch.hpp"
#include "host.hpp"
#include "mpi_gpu_support.hpp"
#include "mpi_launch.hpp"
#include "mpi_transport.hpp"

namespace fabricgauge {

// A simulator carries no data that could change.
inline bool can_check_first(const Options& options) {
    return !Host::simulated && !options.check_data;
}

template <typename Transport>
void run_cases(Transport& transport, const std::vector<Case>& cases, const Options& options,
               DeviceMemory* device, const std::string& interface) {
    const ClockQuality clock = Host::clock_quality();
    const StoppingOptions& stop = options.stopping;
    const LaunchSettings settings{{stop.relative_half_width, stop.confidence, stop.iterations,
                                   clock.overhead_s, options.check_data, can_check_first(options),
                                   Host::read_waits,
                                   std::min(longest_extension_s, options.grace_s / 2.0)},
                                  clock, {options.memory, device}, options.grace_s, interface};
    const auto output = transport.rank() == 0 ? std::make_unique<Output>(options.output) : nullptr;
    Launch<Transport, Host>(transport, output.get(), settings).run(cases);
}

// The reason why this rank has no memory on a device, else empty.
template <typename Transport>
std::string missing_for_memory(const Transport& transport, const std::vector<Case>& cases,
                               const PairMemory& memory, const OpenedDevice& opened) {
    for (const Case& one : cases)
        if (memory.on_device(one, transport.rank(), transport.ranks()))
            return opened.memory ? missing_gpu_support(*opened.memory) : opened.missing;
    return "";
}

// Collective, before the first message: every rank throws the error of the lowest rank that lacks
// something.
template <typename Transport>
void require_memory(Transport& transport, const std::vector<Case>& cases, const Options& options,
                    const OpenedDevice& opened) {
    if (!options.memory.on_device()) return;
    std::string first;
    for (const std::string& one : transport.gather(missing_for_memory(
             transport, cases, {options.memory, opened.memory.get()}, opened)))
        if (first.empty()) first = one;
    transport.broadcast(first);
    if (!first.empty()) throw MissingDevice(first);
}

template <typename Transport>
int read_and_run(Transport& transport, const Options& options, const OpenedDevice& opened,
                 const std::string& interface) {
    std::string text;
    if (transport.rank() == 0) text = read_case_list(std::cin);
    transport.broadcast(text);
    try {
        const std::vector<Case> cases = parse_case_list(text);
        require_memory(transport, cases, options, opened);
        run_cases(transport, cases, options, opened.memory.get(), interface);
        return 0;
    } catch (const CaseListError& error) {
        return transport.rank() == 0 ? complain(error) : exit_case_list;
    } catch (const MissingDevice& error) {
        return transport.rank() == 0 ? complain(error) : exit_no_interface;
    }
}

// With the transport that is made of `rest`. A failure ends every rank.
template <typename Transport, typename... Rest>
int run_session(int argc, char** argv, const Options& options, const std::string& interface,
                const Rest&... rest) {
    // Before MPI has started, so that its message layer (UCX) sees the device that is current.
    const OpenedDevice opened(options.memory);
    MpiSession session(&argc, &argv, options.thread_multiple);
    try {
        Transport transport(rest...);
        return session.finish_with(read_and_run(transport, options, opened, interface));
    } catch (const std::exception& error) {
        MpiTransport::abort(complain(error, Host::placement().host));
    }
}

}  // namespace fabricgauge
