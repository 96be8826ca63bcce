#include "fabricgauge/links.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "check.hpp"

using namespace fabricgauge;
namespace fs = std::filesystem;

namespace {

// A directory of files with one line each, removed at the end.
class Folder {
public:
    Folder() {
        char base[] = "/tmp/fabricgauge-links-XXXXXX";
        root = mkdtemp(base);
    }
    ~Folder() { fs::remove_all(root); }
    void write(const std::string& name, const std::string& line) const {
        fs::create_directories((root / name).parent_path());
        std::ofstream(root / name) << line << "\n";
    }
    fs::path root;
};

}  // namespace

int main() {
    check::test("a netdev tells state, rate and how often its carrier changed", [] {
        const Folder netdev;
        netdev.write("operstate", "up");
        netdev.write("speed", "25000");
        netdev.write("carrier_changes", "12");
        const Link found = read_link(netdev.root);
        check::expect_equal(found.state.value(), "up");
        check::expect_equal(found.speed_bit_s.value(), 25e9);
        check::expect_equal(found.counts.at("carrier_changes").value(), 12);
    });
    check::test("a rate that the driver does not know is no figure", [] {
        const Folder netdev;
        netdev.write("speed", "-1");
        check::expect_equal(read_link(netdev.root).speed_bit_s.absent().reason,
                            "the driver tells no rate");
    });
    check::test("what an older kernel does not count is absent with its reason", [] {
        const Folder netdev;
        netdev.write("operstate", "down");
        const Link found = read_link(netdev.root);
        check::expect(!found.counts.at("carrier_changes").known());
        check::expect(found.counts.at("carrier_changes").absent().reason.find("No such file") !=
                      std::string::npos);
    });
    check::test("a port tells how often it was downed and retrained", [] {
        const Folder port;
        port.write("state", "4: ACTIVE");
        port.write("rate", "100 Gb/sec (4X EDR)");
        port.write("counters/link_downed", "1");
        const Link found = read_port_link(port.root);
        check::expect_equal(found.state.value(), "4: ACTIVE");
        check::expect_equal(found.speed_bit_s.value(), 100e9);
        check::expect_equal(found.counts.at("link_downed").value(), 1);
        check::expect(!found.counts.at("link_error_recovery").known());
    });
    check::test("a link is written with what could not be seen", [] {
        JsonWriter json;
        write_link(json, {std::string("up"), Absent{"none"}, {{"carrier_changes", std::int64_t{3}}}});
        check::expect_equal(json.text(),
                            "{\"type\":\"link\",\"state\":\"up\",\"speed_bit_s\":{\"type\":\"skipped\","
                            "\"reason\":\"none\"},\"counts\":{\"carrier_changes\":3}}");
    });
    return check::outcome();
}
