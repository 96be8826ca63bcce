// The counters of each driver, as tests/fixtures/ports has its files: a line is a file with what it
// says, or a folder (/ at its end) with the names in it and their figures, 0 where none stands.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "check.hpp"
#include "fabricgauge/counters.hpp"

using namespace fabricgauge;
namespace fs = std::filesystem;

namespace {

using Tree = std::map<std::string, std::string>;

Tree tree_in(const fs::path& file) {
    Tree found;
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
        if (line.rfind('#', 0) == 0) continue;
        const std::string path = line.substr(0, line.find(' '));
        const std::string said = path.size() < line.size() ? line.substr(path.size() + 1) : "";
        if (path.back() != '/') {
            found[path] = said;
            continue;
        }
        std::istringstream words(said);
        for (std::string word; words >> word;) {
            const std::size_t equals = word.find('=');
            found[path + word.substr(0, equals)] =
                equals == std::string::npos ? "0" : word.substr(equals + 1);
        }
    }
    return found;
}

std::string port_of(const Tree& tree) {
    for (const auto& [path, said] : tree)
        if (path.find("/ports/1/") != std::string::npos) return path.substr(0, path.find('/')) + ":1";
    return "";
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The engine's reading of the files, with counters of these names that much higher.
NodeCounters read(const Tree& tree, const std::map<std::string, std::int64_t>& higher) {
    char base[] = "/tmp/fabricgauge-ports-XXXXXX";
    const fs::path root = mkdtemp(base);
    for (const auto& [path, said] : tree) {
        const auto more = higher.find(name_of(path));
        fs::create_directories((root / path).parent_path());
        std::ofstream(root / path)
            << (more == higher.end() ? said : std::to_string(std::stoll(said) + more->second)) << "\n";
    }
    const NodeCounters found = read_infiniband(root.string());
    fs::remove_all(root);
    return found;
}

std::string rises(const NodeCounters& before, const NodeCounters& after) {
    JsonWriter json;
    write_port_rises(json, before, after);
    return json.text();
}

// What rises where octets are received and sent, and how many octets one is; 0 where it does not
// tell octets under the standard's names.
struct Driver {
    const char* name;
    const char* received;
    const char* sent;
    std::int64_t octets;
};

constexpr Driver drivers[] = {
    {"mlx5", "port_rcv_data", "port_xmit_data", 4},
    {"mlx4", "port_rcv_data", "port_xmit_data", 4},
    {"hfi1", "port_rcv_data", "port_xmit_data", 8},
    {"bnxt_re", "rx_bytes", "tx_bytes", 0},
    {"efa", "rx_bytes", "tx_bytes", 0},
    {"irdma", "ip4InOctets", "ip6OutOctets", 0},
    {"ionic", "rx_rdma_ucast_bytes", "tx_rdma_ucast_bytes", 0},
    {"hns", "rx_pkt", "tx_pkt", 0},
    {"rxe", "rcvd_pkts", "sent_pkts", 0},
    {"siw", "", "", 0},
};

const std::set<std::string> standard_events{
    "symbol_error", "local_link_integrity_errors", "excessive_buffer_overrun_errors",
    "port_rcv_remote_physical_errors", "port_rcv_constraint_errors", "port_xmit_constraint_errors",
    "VL15_dropped"};

// The driver's own counters, and the standard's events.
std::set<std::string> names_in(const Tree& tree) {
    std::set<std::string> names;
    for (const auto& [path, said] : tree) {
        const std::string folder = name_of(path.substr(0, path.rfind('/')));
        const bool own = folder == "hw_counters" && name_of(path) != "lifespan";
        if (own || (folder == "counters" && standard_events.count(name_of(path)) == 1))
            names.insert(name_of(path));
    }
    return names;
}

}  // namespace

int main() {
    const fs::path folder = FABRICGAUGE_PORTS;
    check::test("every driver's tree is looked at", [&] {
        std::size_t trees = 0;
        for (const fs::directory_entry& file : fs::directory_iterator(folder))
            trees += file.path().extension() == ".tree" ? 1 : 0;
        check::expect_equal(trees, std::size(drivers));
    });
    for (const Driver& driver : drivers) {
        const Tree tree = tree_in(folder / (std::string(driver.name) + ".tree"));
        const NodeCounters before = read(tree, {});
        const NodeCounters after = read(tree, {{driver.received, 1000}, {driver.sent, 3000}});
        const std::string port = port_of(tree);
        check::test((std::string("octets: ") + driver.name).c_str(), [&] {
            check::expect_equal(before.absent.size(), std::size_t{0});
            check::expect_equal(before.interfaces.count(port), std::size_t{driver.octets > 0});
            if (driver.octets > 0) {
                const InterfaceCounters& was = before.interfaces.at(port);
                const InterfaceCounters& now = after.interfaces.at(port);
                check::expect_equal(now.rx_bytes - was.rx_bytes, 1000 * driver.octets);
                check::expect_equal(now.tx_bytes - was.tx_bytes, 3000 * driver.octets);
                check::expect_equal(rises(before, after), "{\"" + port + "\":{}}");
            } else if (driver.received[0] != '\0') {
                const std::string told = rises(before, after);
                const auto has = [&](const char* name, const char* rise) {
                    const std::string member = std::string("\"") + name + "\":" + rise;
                    check::expect(told.find(member) != std::string::npos);
                };
                has(driver.received, "1000");
                has(driver.sent, "3000");
            }
        });
        check::test((std::string("names: ") + driver.name).c_str(), [&] {
            std::set<std::string> names;
            for (const auto& [name, value] : before.ports.at(port)) names.insert(name);
            check::expect(names == names_in(tree));
            check::expect_equal(names.empty(), std::string(driver.name) == "siw");
        });
    }
    check::test("a counter that was there only once has no rise, not one of 0", [&] {
        const Tree after = tree_in(folder / "efa.tree");
        Tree before = after;
        for (auto each = before.begin(); each != before.end();)
            each = name_of(each->first) == "rx_bytes" ? before.erase(each) : std::next(each);
        const std::string told = rises(read(before, {}), read(after, {}));
        check::expect(told.find("\"tx_bytes\":0") != std::string::npos);
        check::expect(told.find("\"rx_bytes\"") == std::string::npos);
    });
    check::test("old kernels that say no PMA have no octets, and the driver's own are read", [&] {
        Tree tree = tree_in(folder / "mlx4.tree");
        for (auto& [path, said] : tree)
            if (path.find("/counters/") != std::string::npos) said = "N/A (no PMA)";
        const NodeCounters found = read(tree, {});
        check::expect(found.interfaces.empty());
        check::expect(found.absent.at("mlx4_0:1").find("port_rcv_data: not a number") !=
                      std::string::npos);
        check::expect_equal(found.ports.at("mlx4_0:1").at("sq_num_to"), 0);
    });
    return check::outcome();
}
