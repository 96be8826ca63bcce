#include "fabricgauge/exit_status.hpp"

#include <new>
#include <set>
#include <stdexcept>
#include <system_error>

#include "check.hpp"
#include "fabricgauge/case_list.hpp"
#include "fabricgauge/device_memory.hpp"
#include "fabricgauge/options.hpp"
#include "fabricgauge/output.hpp"
#include "fabricgauge/pin.hpp"
#include "fabricgauge/rdma_ports.hpp"
#include "fabricgauge/transport.hpp"

using namespace fabricgauge;

int main() {
    check::test("each cause has a status of its own", [] {
        const std::error_code refused(EAGAIN, std::generic_category());
        const std::set<int> statuses{
            failure_of(OptionsError("x")).status,      failure_of(CaseListError("x")).status,
            failure_of(PinError("x")).status,          failure_of(OutputError(refused, "x")).status,
            failure_of(TransportError("x")).status,    failure_of(std::bad_alloc()).status,
            failure_of(std::runtime_error("x")).status, exit_timeout};
        check::expect_equal(statuses.size(), std::size_t{8});
    });
    check::test("what cannot be written is no refusal of a thread", [] {
        const std::error_code refused(EAGAIN, std::generic_category());
        check::expect_equal(failure_of(OutputError(refused, "x")).status, exit_output);
        check::expect_equal(failure_of(std::system_error(refused, "thread")).status, exit_system);
    });
    check::test("what is not on a node is one cause, an interface, an RDMA port or a device", [] {
        check::expect_equal(failure_of(PinError("x")).status, exit_no_interface);
        check::expect_equal(failure_of(RdmaError("x")).status, exit_no_interface);
        check::expect_equal(failure_of(DeviceError("x")).status, exit_no_interface);
    });
    check::test("too little memory is said in words", [] {
        check::expect(failure_of(std::bad_alloc()).text.find("out of memory") == 0);
    });
    check::test("what nothing else names is the engine's own fault and no MPI failure", [] {
        const Failure failure = failure_of(std::invalid_argument("JSON has no infinity"));
        check::expect_equal(failure.status, exit_internal);
        check::expect(failure.text.find("fault of the engine") != std::string::npos);
        check::expect(failure.text.find("JSON has no infinity") != std::string::npos);
    });
    check::test("a failed call keeps its text", [] {
        check::expect_equal(failure_of(TransportError("MPI_Send failed: why")).text,
                            "MPI_Send failed: why");
    });
    return check::outcome();
}
