// Counters of a node's interfaces, as the kernel shows them to this process's network namespace.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <string>

#include "fabricgauge/json.hpp"
#include "fabricgauge/links.hpp"
#include "fabricgauge/seen.hpp"

namespace fabricgauge {

// Errors and drops are not kept by every port. Without a cable, as loopback is, there is no link.
struct InterfaceCounters {
    std::int64_t rx_bytes = 0;
    std::int64_t tx_bytes = 0;
    std::int64_t rx_packets = 0;
    std::int64_t tx_packets = 0;
    Seen<std::int64_t> rx_errors = std::int64_t{0};
    Seen<std::int64_t> tx_errors = std::int64_t{0};
    Seen<std::int64_t> rx_dropped = std::int64_t{0};
    Seen<std::int64_t> tx_dropped = std::int64_t{0};
    std::optional<Link> link = std::nullopt;
};

// An InfiniBand or Omni-Path port is named like mlx5_0:1.
struct NodeCounters {
    std::map<std::string, InterfaceCounters> interfaces;
    // Counters that could not be read: the reason, by interface or file.
    std::map<std::string, std::string> absent;
    // When they were read, in seconds since 1970 (UTC), by this node's clock.
    double read_utc_s = 0.0;
    // A port's counters of what went wrong, and all of its driver's own, under the kernel's names.
    std::map<std::string, std::map<std::string, std::int64_t>> ports = {};
};

// The text of /proc/net/dev; a line that is not understood is absent.
NodeCounters parse_net_dev(std::istream& text);
// Ports below a directory like /sys/class/infiniband; none where it does not exist.
NodeCounters read_infiniband(const std::string& directory);
// `net_dev` is a file like /proc/self/net/dev.
NodeCounters read_net_dev(const std::string& net_dev);
NodeCounters read_counters();

void write_counters(JsonWriter& json, const NodeCounters& counters);
// The increase of each counter of ports that were read both times, under the kernel's names. A port
// without the standard's octets also has counters that did not rise, since a driver may count
// octets under its own names.
void write_port_rises(JsonWriter& json, const NodeCounters& before, const NodeCounters& after);

}  // namespace fabricgauge
