// The link behind an interface or an adapter's port: its state, its rate, how often it went away.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "fabricgauge/json.hpp"
#include "fabricgauge/seen.hpp"

namespace fabricgauge {

// `counts` are by the kernel's names: carrier_changes of a netdev, which counts losses and returns
// alike; link_downed and link_error_recovery (retraining) of an InfiniBand port.
struct Link {
    Seen<std::string> state;
    Seen<double> speed_bit_s;
    std::map<std::string, Seen<std::int64_t>> counts;
};

// Read a netdev's link from a directory like /sys/class/net/eth0.
Link read_link(const std::string& netdev);
// Read a port's link from a directory like /sys/class/infiniband/mlx5_0/ports/1.
Link read_port_link(const std::string& port);

void write_link(JsonWriter& json, const Link& link);

}  // namespace fabricgauge
