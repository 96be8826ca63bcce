#include "fabricgauge/exit_status.hpp"

#include <new>
#include <system_error>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/device_memory.hpp"
#include "fabricgauge/options.hpp"
#include "fabricgauge/output.hpp"
#include "fabricgauge/pin.hpp"
#include "fabricgauge/rdma_ports.hpp"
#include "fabricgauge/transport.hpp"

namespace fabricgauge {

namespace {

template <typename Error>
bool is(const std::exception& error) {
    return dynamic_cast<const Error*>(&error) != nullptr;
}

}  // namespace

Failure failure_of(const std::exception& error) {
    const std::string text = error.what();
    if (is<OptionsError>(error)) return {exit_options, text};
    if (is<CaseListError>(error)) return {exit_case_list, text};
    if (is<PinError>(error) || is<RdmaError>(error) || is<OfiError>(error) || is<DeviceError>(error))
        return {exit_no_interface, text};
    if (is<OutputError>(error)) return {exit_output, text};
    if (is<TransportError>(error)) return {exit_mpi, text};
    if (is<std::bad_alloc>(error))
        return {exit_system, "out of memory: the system refused an allocation"};
    if (is<std::system_error>(error)) return {exit_system, "the system refused: " + text};
    return {exit_internal, "a fault of the engine itself, please report it: " + text};
}

}  // namespace fabricgauge
