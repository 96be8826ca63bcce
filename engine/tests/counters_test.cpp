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
        check::expect_equal(found.interfaces.size(), std::size_t{2});
        check::expect_equal(found.absent.count("broken"), std::size_t{1});
        const InterfaceCounters& eth0 = found.interfaces.at("eth0");
        check::expect_equal(eth0.rx_bytes, 1234567890123);
        check::expect_equal(eth0.rx_dropped.value(), 4);
        check::expect_equal(eth0.tx_bytes, 9);
        check::expect_equal(eth0.tx_packets, 10);
        check::expect_equal(eth0.tx_errors.value(), 11);
        check::expect_equal(eth0.tx_dropped.value(), 12);
    });
    check::test("an InfiniBand port's words become bytes", [] {
        char base[] = "/tmp/fabricgauge-counters-XXXXXX";
        const fs::path root = mkdtemp(base);
        const fs::path counters = root / "mlx5_0" / "ports" / "1" / "counters";
        fs::create_directories(counters);
        std::ofstream(counters / "port_xmit_data") << 25 << "\n";
        std::ofstream(counters / "port_rcv_data") << 50 << "\n";
        std::ofstream(counters / "port_xmit_packets") << 7 << "\n";
        std::ofstream(counters / "port_rcv_packets") << 8 << "\n";
        std::ofstream(counters / "port_rcv_errors") << 9 << "\n";
        const NodeCounters found = read_infiniband(root.string());
        check::expect_equal(found.interfaces.at("mlx5_0:1").tx_bytes, 100);
        check::expect_equal(found.interfaces.at("mlx5_0:1").rx_bytes, 200);
        check::expect_equal(found.interfaces.at("mlx5_0:1").tx_packets, 7);
        check::expect_equal(found.interfaces.at("mlx5_0:1").rx_errors.value(), 9);
        // A counter that is not there is no 0.
        check::expect(!found.interfaces.at("mlx5_0:1").tx_dropped.known());
        check::expect(!found.interfaces.at("mlx5_0:1").rx_dropped.known());
        // hfi1 counts flits of eight octets.
        fs::create_directories(counters.parent_path() / "hw_counters");
        std::ofstream(counters.parent_path() / "hw_counters" / "TxFlitVL0") << 1 << "\n";
        check::expect_equal(read_infiniband(root.string()).interfaces.at("mlx5_0:1").tx_bytes, 200);
        fs::remove(counters / "port_rcv_data");
        const NodeCounters less = read_infiniband(root.string());
        check::expect(less.interfaces.empty());
        check::expect(less.absent.at("mlx5_0:1").find("port_rcv_data: No such file") !=
                      std::string::npos);
        fs::remove_all(root);
    });
    check::test("a driver's own counters are told by how much they rose", [] {
        char base[] = "/tmp/fabricgauge-counters-XXXXXX";
        const fs::path root = mkdtemp(base);
        const fs::path own = root / "bnxt_re0" / "ports" / "1" / "hw_counters";
        fs::create_directories(own);
        const auto write = [&](const char* name, int value) {
            std::ofstream(own / name) << value << "\n";
        };
        write("tx_bytes", 100);
        write("rnr_naks_rcvd", 3);
        write("max_retry_exceeded", 0);
        write("lifespan", 10);
        const NodeCounters before = read_infiniband(root.string());
        check::expect(before.interfaces.empty());
        check::expect(before.absent.empty());
        write("tx_bytes", 4100);
        write("rnr_naks_rcvd", 5);
        NodeCounters after = read_infiniband(root.string());
        JsonWriter all;
        write_port_rises(all, before, after);
        check::expect_equal(
            all.text(),
            R"({"bnxt_re0:1":{"max_retry_exceeded":0,"rnr_naks_rcvd":2,"tx_bytes":4000}})");
        // Where the standard's octets are there, what did not rise is not told.
        after.interfaces["bnxt_re0:1"] = InterfaceCounters{};
        JsonWriter risen;
        write_port_rises(risen, before, after);
        check::expect_equal(risen.text(),
                            R"({"bnxt_re0:1":{"rnr_naks_rcvd":2,"tx_bytes":4000}})");
        fs::remove_all(root);
    });
    check::test("no InfiniBand is no ports", [] {
        check::expect(read_infiniband("/nonexistent").interfaces.empty());
        check::expect(read_infiniband("/nonexistent").absent.empty());
    });
    check::test("this machine's loopback is there", [] {
        check::expect_equal(read_counters().interfaces.count("lo"), std::size_t{1});
    });
    check::test("a table that cannot be read is absent with its reason", [] {
        const NodeCounters found = read_net_dev("/nonexistent");
        check::expect(found.interfaces.empty());
        check::expect_equal(found.absent.at("/nonexistent"),
                            "/nonexistent: No such file or directory");
    });
    return check::outcome();
}
