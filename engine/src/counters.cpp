#include "fabricgauge/counters.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fabricgauge {

namespace {

namespace fs = std::filesystem;

// The unit of a port's data counters: words of four octets (InfiniBand Architecture Specification
// Vol. 1, 16.1.3.5, PortCounters). hfi1 counts flits of eight (Linux 6.12,
// drivers/infiniband/hw/hfi1/mad.c, pma_get_ib_portcounters_ext; opa-ff, FLITS_PER_MB), and alone
// has a counter of that name.
std::int64_t octets_per_unit(const fs::path& port) {
    std::error_code none;
    return fs::exists(port / "hw_counters" / "TxFlitVL0", none) ? 8 : 4;
}

Seen<std::int64_t> number_in(const fs::path& file) {
    errno = 0;
    std::ifstream stream(file);
    if (!stream) return cannot_read(file);
    std::int64_t value = 0;
    if (!(stream >> value)) return Absent{file.string() + ": not a number"};
    return value;
}

// Without one of these a port has no traffic counts. Throws the Absent of the first.
std::int64_t needed(const fs::path& file) {
    const Seen<std::int64_t> found = number_in(file);
    if (!found.known()) throw found.absent();
    return found.value();
}

// The standard's counters of a link except errors, discards and octets. Each is a request to the
// adapter; all of `hw_counters` are one.
constexpr std::array standard_events{
    "symbol_error", "local_link_integrity_errors", "excessive_buffer_overrun_errors",
    "port_rcv_remote_physical_errors", "port_rcv_constraint_errors", "port_xmit_constraint_errors",
    "VL15_dropped"};

// All numbers of `hw_counters`, by name, and the standard's events. A lifespan is how long a driver
// keeps its values.
std::map<std::string, std::int64_t> read_names(const fs::path& port) {
    std::map<std::string, std::int64_t> found;
    const auto add = [&](const fs::path& file) {
        const Seen<std::int64_t> number = number_in(file);
        if (number.known()) found.emplace(file.filename().string(), number.value());
    };
    std::error_code none;
    for (const fs::directory_entry& file : fs::directory_iterator(port / "hw_counters", none))
        if (file.path().filename() != "lifespan") add(file.path());
    for (const char* name : standard_events) add(port / "counters" / name);
    return found;
}

InterfaceCounters read_port(const fs::path& counters) {
    InterfaceCounters port;
    const std::int64_t unit = octets_per_unit(counters.parent_path());
    port.rx_bytes = needed(counters / "port_rcv_data") * unit;
    port.tx_bytes = needed(counters / "port_xmit_data") * unit;
    port.rx_packets = needed(counters / "port_rcv_packets");
    port.tx_packets = needed(counters / "port_xmit_packets");
    port.rx_errors = number_in(counters / "port_rcv_errors");
    port.tx_errors = Absent{"a port keeps no such counter"};
    port.rx_dropped = Absent{"a port keeps no such counter"};
    port.tx_dropped = number_in(counters / "port_xmit_discards");
    port.link = read_port_link(counters.parent_path());
    return port;
}

double utc_s() {
    using std::chrono::duration, std::chrono::system_clock;
    return duration<double>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

NodeCounters parse_net_dev(std::istream& text) {
    NodeCounters found;
    for (std::string line; std::getline(text, line);) {
        // An alias may hold a colon itself (eth0:1), so the last one ends the name.
        const std::size_t colon = line.rfind(':');
        if (colon == std::string::npos) continue;
        const std::size_t begin = line.find_first_not_of(' ');
        const std::string name = line.substr(begin, colon - begin);
        std::istringstream columns(line.substr(colon + 1));
        std::array<std::int64_t, 16> column{};
        for (std::int64_t& value : column) columns >> value;
        if (columns)
            found.interfaces[name] = {column[0], column[8],  column[1], column[9],
                                      column[2], column[10], column[3], column[11], std::nullopt};
        else
            found.absent[name] = "its line in /proc/self/net/dev is not understood";
    }
    return found;
}

NodeCounters read_infiniband(const std::string& directory) {
    NodeCounters found;
    std::error_code none;
    for (const fs::directory_entry& device : fs::directory_iterator(directory, none)) {
        for (const fs::directory_entry& port : fs::directory_iterator(device.path() / "ports", none)) {
            const fs::path counters = port.path() / "counters";
            const std::string name =
                device.path().filename().string() + ":" + port.path().filename().string();
            found.ports[name] = read_names(port.path());
            // Not all drivers keep the standard's: nothing of them should have been there.
            if (!fs::exists(counters, none)) continue;
            try {
                found.interfaces[name] = read_port(counters);
            } catch (const Absent& absent) {
                found.absent[name] = absent.reason;
            }
        }
    }
    return found;
}

NodeCounters read_net_dev(const std::string& net_dev) {
    errno = 0;
    std::ifstream file(net_dev);
    if (file) return parse_net_dev(file);
    return {{}, {{net_dev, cannot_read(net_dev).reason}}, 0.0};
}

NodeCounters read_counters() {
    NodeCounters found = read_net_dev("/proc/self/net/dev");
    found.read_utc_s = utc_s();
    for (auto& [name, seen] : found.interfaces)
        if (name != "lo") seen.link = read_link("/sys/class/net/" + name);
    NodeCounters ports = read_infiniband("/sys/class/infiniband");
    found.interfaces.merge(ports.interfaces);
    found.absent.merge(ports.absent);
    found.ports = std::move(ports.ports);
    return found;
}

void write_counters(JsonWriter& json, const NodeCounters& counters) {
    json.begin_object();
    for (const auto& [name, seen] : counters.interfaces) {
        json.key(name).begin_object();
        json.member("rx_bytes", seen.rx_bytes).member("tx_bytes", seen.tx_bytes);
        json.member("rx_packets", seen.rx_packets).member("tx_packets", seen.tx_packets);
        write_seen(json.key("rx_errors"), seen.rx_errors);
        write_seen(json.key("tx_errors"), seen.tx_errors);
        write_seen(json.key("rx_dropped"), seen.rx_dropped);
        write_seen(json.key("tx_dropped"), seen.tx_dropped);
        if (seen.link) write_link(json.key("link"), *seen.link);
        json.end_object();
    }
    json.end_object();
}

void write_port_rises(JsonWriter& json, const NodeCounters& before, const NodeCounters& after) {
    json.begin_object();
    for (const auto& [port, counters] : after.ports) {
        const auto earlier = before.ports.find(port);
        if (earlier == before.ports.end()) continue;
        const bool all = after.interfaces.count(port) == 0;
        json.key(port).begin_object();
        for (const auto& [name, now] : counters) {
            const auto was = earlier->second.find(name);
            if (was == earlier->second.end()) continue;
            const std::int64_t rise = now - was->second;
            if (rise > 0 || (all && rise == 0)) json.member(name, rise);
        }
        json.end_object();
    }
    json.end_object();
}

}  // namespace fabricgauge
