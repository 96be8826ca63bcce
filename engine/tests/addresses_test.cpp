#include "fabricgauge/addresses.hpp"

#include "check.hpp"

using namespace fabricgauge;

int main() {
    NodeAddresses nodes;
    nodes.add(0, "10.0.0.1,172.17.0.1,fd00::1");
    nodes.add(1, "10.0.0.2,172.17.0.1,fd00::2");
    check::test("an endpoint is known by its address, whatever the port", [&] {
        check::expect(!nodes.is_elsewhere("10.0.0.1:4711", 0));
        check::expect(nodes.is_elsewhere("10.0.0.1:4711", 1));
        check::expect(nodes.is_elsewhere("[fd00::2]:1", 0));
        check::expect(!nodes.is_elsewhere("[fd00::2]:1", 1));
        check::expect(nodes.is_elsewhere("[::ffff:10.0.0.2]:1", 0));
    });
    check::test("an address that several nodes have is of each of them", [&] {
        check::expect(!nodes.is_elsewhere("172.17.0.1:9", 0));
        check::expect(!nodes.is_elsewhere("172.17.0.1:9", 1));
        check::expect(nodes.is_elsewhere("172.17.0.1:9", 2));
    });
    check::test("an address that no node knows may be anybody's", [&] {
        check::expect(!nodes.is_elsewhere("192.0.2.7:1", 0));
        check::expect(!nodes.is_elsewhere("127.0.0.1:1", 0));
    });
    check::test("this machine's own addresses are without loopback's", [] {
        check::expect((own_addresses() + ",").find("127.0.0.1,") == std::string::npos);
        check::expect(("," + own_addresses() + ",").find(",::1,") == std::string::npos);
    });
    return check::outcome();
}
