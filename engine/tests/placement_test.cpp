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
    return check::outcome();
}
