#include "fabricgauge/links.hpp"

#include <cerrno>
#include <fstream>

namespace fabricgauge {

namespace {

// The first line of a file; some attributes cannot be read while an interface is switched off.
Seen<std::string> line_of(const std::string& path) {
    errno = 0;
    std::ifstream stream(path);
    std::string line;
    if (!stream || !std::getline(stream, line)) return cannot_read(path);
    return line;
}

template <typename Number>
Seen<Number> number_of(const std::string& path, double unit = 1.0) {
    const Seen<std::string> line = line_of(path);
    if (!line.known()) return line.absent();
    try {
        return static_cast<Number>(std::stod(line.value()) * unit);
    } catch (const std::exception&) {
        return Absent{path + ": not a number"};
    }
}

}  // namespace

Link read_link(const std::string& netdev) {
    // Mb/s; -1 where the driver does not know (sysfs-class-net).
    Seen<double> speed = number_of<double>(netdev + "/speed", 1e6);
    if (speed.known() && speed.value() <= 0.0) speed = Absent{"the driver tells no rate"};
    return {line_of(netdev + "/operstate"), speed,
            {{"carrier_changes", number_of<std::int64_t>(netdev + "/carrier_changes")}}};
}

Link read_port_link(const std::string& port) {
    const std::string counters = port + "/counters/";
    // Such as "4: ACTIVE" and "100 Gb/sec (4X EDR)" (sysfs-class-infiniband).
    return {line_of(port + "/state"), number_of<double>(port + "/rate", 1e9),
            {{"link_downed", number_of<std::int64_t>(counters + "link_downed")},
             {"link_error_recovery", number_of<std::int64_t>(counters + "link_error_recovery")}}};
}

void write_link(JsonWriter& json, const Link& link) {
    json.begin_object().member("type", "link");
    write_seen(json.key("state"), link.state);
    write_seen(json.key("speed_bit_s"), link.speed_bit_s);
    json.key("counts").begin_object();
    for (const auto& [name, count] : link.counts) write_seen(json.key(name), count);
    json.end_object().end_object();
}

}  // namespace fabricgauge
