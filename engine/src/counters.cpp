#include "fabricgauge/counters.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace fabricgauge {

namespace {

namespace fs = std::filesystem;

// The data counters of a port count words of four octets: InfiniBand Architecture Specification
// Vol. 1, 16.1.3.5 (PortCounters).
constexpr std::int64_t octets_per_word = 4;

std::int64_t number_in(const fs::path& file) {
    std::int64_t value = 0;
    std::ifstream(file) >> value;
    return value;
}

InterfaceCounters read_port(const fs::path& counters) {
    InterfaceCounters port;
    port.rx_bytes = number_in(counters / "port_rcv_data") * octets_per_word;
    port.tx_bytes = number_in(counters / "port_xmit_data") * octets_per_word;
    port.rx_packets = number_in(counters / "port_rcv_packets");
    port.tx_packets = number_in(counters / "port_xmit_packets");
    port.rx_errors = number_in(counters / "port_rcv_errors");
    port.tx_dropped = number_in(counters / "port_xmit_discards");
    return port;
}

}  // namespace

NodeCounters parse_net_dev(std::istream& text) {
    NodeCounters found;
    for (std::string line; std::getline(text, line);) {
        // An alias may hold a colon itself (eth0:1), so the last one ends the name.
        const std::size_t colon = line.rfind(':');
        if (colon == std::string::npos) continue;
        const std::size_t begin = line.find_first_not_of(' ');
        std::istringstream columns(line.substr(colon + 1));
        InterfaceCounters seen;
        std::int64_t skipped = 0;
        columns >> seen.rx_bytes >> seen.rx_packets >> seen.rx_errors >> seen.rx_dropped;
        for (int column = 0; column < 4; ++column) columns >> skipped;
        columns >> seen.tx_bytes >> seen.tx_packets >> seen.tx_errors >> seen.tx_dropped;
        if (columns) found[line.substr(begin, colon - begin)] = seen;
    }
    return found;
}

NodeCounters read_infiniband(const std::string& directory) {
    NodeCounters found;
    std::error_code none;
    for (const fs::directory_entry& device : fs::directory_iterator(directory, none)) {
        for (const fs::directory_entry& port : fs::directory_iterator(device.path() / "ports", none)) {
            const fs::path counters = port.path() / "counters";
            if (fs::exists(counters / "port_xmit_data", none))
                found[device.path().filename().string() + ":" + port.path().filename().string()] =
                    read_port(counters);
        }
    }
    return found;
}

NodeCounters read_counters() {
    std::ifstream net_dev("/proc/self/net/dev");
    NodeCounters found = parse_net_dev(net_dev);
    found.merge(read_infiniband("/sys/class/infiniband"));
    return found;
}

void write_counters(JsonWriter& json, const NodeCounters& counters) {
    json.begin_object();
    for (const auto& [name, seen] : counters) {
        json.key(name).begin_object();
        json.member("rx_bytes", seen.rx_bytes).member("tx_bytes", seen.tx_bytes);
        json.member("rx_packets", seen.rx_packets).member("tx_packets", seen.tx_packets);
        json.member("rx_errors", seen.rx_errors).member("tx_errors", seen.tx_errors);
        json.member("rx_dropped", seen.rx_dropped).member("tx_dropped", seen.tx_dropped);
        json.end_object();
    }
    json.end_object();
}

}  // namespace fabricgauge
