#include "fabricgauge/rdma_ports.hpp"

#include <filesystem>
#include <fstream>

#include "check.hpp"

using namespace fabricgauge;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
}

// Like rxe's in Linux 6.12: ports/1 with a link-local and an IPv4 address.
std::string planted(const std::string& device, const std::string& state, const std::string& node_type) {
    const fs::path root = fs::temp_directory_path() / "fabricgauge-rdma-ports-test";
    const fs::path port = root / device / "ports" / "1";
    write(root / device / "node_type", node_type);
    write(port / "state", state);
    write(port / "link_layer", "Ethernet");
    write(port / "gids" / "0", "fe80:0000:0000:0000:5054:00ff:fe12:3456");
    write(port / "gids" / "1", "0000:0000:0000:0000:0000:ffff:0a4d:000b");
    write(port / "gids" / "2", "0000:0000:0000:0000:0000:ffff:0a63:000b");
    write(port / "gids" / "10", "0000:0000:0000:0000:0000:0000:0000:0000");
    write(port / "gid_attrs" / "types" / "0", "IB/RoCE v1");
    write(port / "gid_attrs" / "types" / "1", "RoCE v2");
    write(port / "gid_attrs" / "types" / "2", "RoCE v2");
    return root;
}

}  // namespace

int main() {
    const std::string root = planted("rxe0", "4: ACTIVE", "1: CA");
    planted("rxe1", "4: ACTIVE", "1: CA");
    planted("rxe10", "1: DOWN", "1: CA");
    planted("siw0", "4: ACTIVE", "4: RNIC");
    const std::vector<RdmaPort> ports = read_rdma_ports(root);
    const auto chosen = [&](const std::vector<std::string>& wanted) {
        return choose_port(ports, wanted).name();
    };

    check::test("ports are read with the addresses that are set", [&] {
        check::expect_equal(ports.size(), std::size_t{4});
        check::expect_equal(ports[0].gids.size(), std::size_t{3});
        check::expect_equal(ports[0].gids[1].text(), "::ffff:10.77.0.11");
    });
    check::test("the first active port is found, or the first of those that are named", [&] {
        check::expect_equal(chosen({}), "rxe0:1");
        check::expect_equal(chosen({"mlx5_0:1", "rxe0:1"}), "rxe0:1");
        check::expect_equal(chosen({"rxe1:1", "rxe0:1"}), "rxe1:1");
        check::expect_error<RdmaError>([&] { chosen({"mlx5_0:1"}); }, "no RDMA port mlx5_0:1: it has");
        check::expect_error<RdmaError>([&] { chosen({"rxe10:1"}); }, "is not active: 1: DOWN");
        check::expect_error<RdmaError>([&] { chosen({"siw0:1"}); }, "iWARP");
        check::expect_error<RdmaError>([] { choose_port({}, {}); }, "it has no RDMA ports");
    });
    check::test("the address is that of RoCE v2 made of IPv4, in the subnet that is meant", [&] {
        const RdmaPort& port = ports[0];
        check::expect_equal(choose_gid(port, std::nullopt, "").index, 1);
        check::expect_equal(choose_gid(port, std::nullopt, "10.99.0.0/24").index, 2);
        check::expect_equal(choose_gid(port, std::nullopt, "192.0.2.0/24").index, 1);
        check::expect_equal(choose_gid(port, 0, "").index, 0);
        check::expect_error<RdmaError>([&] { choose_gid(port, 7, ""); }, "1 ::ffff:10.77.0.11");
        check::expect_error<OptionsError>([&] { choose_gid(port, std::nullopt, "10.99"); },
                                          "--gid-subnet: '10.99' is not understood");
    });
    fs::remove_all(root);
    return check::outcome();
}
