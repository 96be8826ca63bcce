#include "fabricgauge/counters.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "check.hpp"

using namespace fabricgauge;
namespace fs = std::filesystem;

int main() {
    check::test("the kernel's table is read column by column", [] {
        std::istringstream text(
            "Inter-|   Receive                    |  Transmit\n"
            " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets "
            "errs drop fifo colls carrier compressed\n"
            "    lo: 10 1 0 0 0 0 0 0 10 1 0 0 0 0 0 0\n"
            "  eth0:1234567890123 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
            "broken: 1 2\n");
        const NodeCounters found = parse_net_dev(text);
        check::expect_equal(found.size(), std::size_t{2});
        const InterfaceCounters& eth0 = found.at("eth0");
        check::expect_equal(eth0.rx_bytes, 1234567890123);
        check::expect_equal(eth0.rx_dropped, 4);
        check::expect_equal(eth0.tx_bytes, 9);
        check::expect_equal(eth0.tx_packets, 10);
        check::expect_equal(eth0.tx_errors, 11);
        check::expect_equal(eth0.tx_dropped, 12);
    });
    check::test("an InfiniBand port's words become bytes", [] {
        char base[] = "/tmp/fabricgauge-counters-XXXXXX";
        const fs::path root = mkdtemp(base);
        const fs::path counters = root / "mlx5_0" / "ports" / "1" / "counters";
        fs::create_directories(counters);
        std::ofstream(counters / "port_xmit_data") << 25 << "\n";
        std::ofstream(counters / "port_rcv_data") << 50 << "\n";
        std::ofstream(counters / "port_xmit_packets") << 7 << "\n";
        const NodeCounters found = read_infiniband(root.string());
        check::expect_equal(found.at("mlx5_0:1").tx_bytes, 100);
        check::expect_equal(found.at("mlx5_0:1").rx_bytes, 200);
        check::expect_equal(found.at("mlx5_0:1").tx_packets, 7);
        fs::remove_all(root);
    });
    check::test("no InfiniBand is no ports", [] {
        check::expect(read_infiniband("/nonexistent").empty());
    });
    check::test("this machine's loopback is there", [] {
        check::expect_equal(read_counters().count("lo"), std::size_t{1});
    });
    return check::outcome();
}
