#include "fabricgauge/placement.hpp"

#include <unistd.h>

#include "check.hpp"

using namespace fabricgauge;

int main() {
    check::test("processors are written as a list", [] {
        check::expect_equal(list_of({0, 1, 2, 3, 8}), "0-3,8");
        check::expect_equal(list_of({5}), "5");
        check::expect_equal(list_of({0, 2, 3}), "0,2-3");
        check::expect_equal(list_of({}), "");
    });
    check::test("this process is found", [] {
        const Placement found = find_placement();
        check::expect_equal(found.pid, static_cast<int>(getpid()));
        check::expect(!found.host.empty());
        check::expect(!found.cpus_allowed.empty());
        check::expect_equal(found.net_namespace.substr(0, 5), "net:[");
    });
    check::test("a rank without a processor, as a simulator's, tells why, never processor 0", [] {
        JsonWriter here, simulated;
        write_placement(here, 3, find_placement(), "eth0");
        write_placement(simulated, 3, Placement{}, "");
        check::expect(here.text().find("\"cpu\":{") == std::string::npos);
        for (const char* name : {"cpu", "numa_node"})
            check::expect(simulated.text().find(std::string("\"") + name +
                                                "\":{\"type\":\"skipped\",\"reason\":\"a simulated rank") !=
                          std::string::npos);
    });
    return check::outcome();
}
