// Counters of a node's interfaces, as the kernel shows them to this process's network namespace.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <string>

#include "fabricgauge/json.hpp"

namespace fabricgauge {

struct InterfaceCounters {
    std::int64_t rx_bytes = 0;
    std::int64_t tx_bytes = 0;
    std::int64_t rx_packets = 0;
    std::int64_t tx_packets = 0;
    std::int64_t rx_errors = 0;
    std::int64_t tx_errors = 0;
    std::int64_t rx_dropped = 0;
    std::int64_t tx_dropped = 0;
};

// By interface name; an InfiniBand or Omni-Path port is named like mlx5_0:1.
using NodeCounters = std::map<std::string, InterfaceCounters>;

// The text of /proc/net/dev; lines that are not understood are left out.
NodeCounters parse_net_dev(std::istream& text);
// Ports below a directory like /sys/class/infiniband; none where it does not exist.
NodeCounters read_infiniband(const std::string& directory);
NodeCounters read_counters();

void write_counters(JsonWriter& json, const NodeCounters& counters);

}  // namespace fabricgauge
