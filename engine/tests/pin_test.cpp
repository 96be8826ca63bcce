#include "fabricgauge/pin.hpp"

#include <arpa/inet.h>

#include <cstdlib>
#include <string>

#include "check.hpp"

using namespace fabricgauge;

namespace {

bool contains(const std::string& cidr, const std::string& address) {
    std::uint8_t octets[16] = {};
    const bool v4 = inet_pton(AF_INET, address.c_str(), octets) == 1;
    if (!v4) inet_pton(AF_INET6, address.c_str(), octets);
    const auto subnet = Subnet::parse(cidr);
    return subnet && subnet->contains(octets, v4 ? 4 : 16);
}

}  // namespace

int main() {
    check::test("an address is in its subnet and not in another", [] {
        check::expect(contains("10.77.0.0/24", "10.77.0.255"));
        check::expect(!contains("10.77.0.0/24", "10.77.1.0"));
        check::expect(contains("10.77.0.0/15", "10.76.3.4"));
        check::expect(contains("0.0.0.0/0", "192.0.2.1"));
        check::expect(contains("fd00::/8", "fd12::1"));
        check::expect(!contains("fd00::/8", "10.0.0.1"));
    });
    check::test("what is no subnet is refused", [] {
        for (const char* text : {"", "10.0.0.0", "10.0.0.0/33", "10.0.0/8", "x/8", "10.0.0.0/x"})
            check::expect(!Subnet::parse(text));
    });
    check::test("the loopback interface is found and its name exported", [] {
        check::expect_equal(pin({"127.0.0.0/8", {"FABRICGAUGE_TEST_INTERFACE"}}).interface, "lo");
        check::expect_equal(std::string(std::getenv("FABRICGAUGE_TEST_INTERFACE")), "lo");
    });
    check::test("an address that has a label is on the interface before it", [] {
        check::expect_equal(interface_of("eth0:1"), "eth0");
        check::expect_equal(interface_of("ib0.8001"), "ib0.8001");
        check::expect_equal(told_of("UCX_NET_DEVICES", "eth0:1"), "eth0");
        check::expect_equal(told_of("FI_TCP_IFACE", "eth0:1"), "eth0:1");
    });
    check::test("a subnet that is on no interface is an error that names it", [] {
        check::expect_error<PinError>([] { pin({"203.0.113.0/24", {}}); }, "203.0.113.0/24");
        check::expect_error<OptionsError>([] { pin({"203.0.113.0", {}}); }, "expected a subnet");
    });
    check::test("nothing to pin is no interface", [] { check::expect_equal(pin({}).interface, ""); });
    return check::outcome();
}
