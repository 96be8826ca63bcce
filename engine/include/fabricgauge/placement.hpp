// The node and processors of this process.
#pragma once

#include <string>
#include <vector>

#include "fabricgauge/json.hpp"
#include "fabricgauge/seen.hpp"

namespace fabricgauge {

struct Placement {
    std::string host;
    int pid = 0;
    std::string boot_id;
    std::string net_namespace;
    std::string cpus_allowed;
    Seen<std::int64_t> cpu = Absent{"a simulated rank has none"};
    Seen<std::int64_t> numa_node = Absent{"a simulated rank has none"};

    // Equal for ranks that share host and network interfaces.
    std::string node_key() const { return host + '|' + boot_id + '|' + net_namespace; }
};

Placement find_placement();

// Ascending processor numbers as a list like 0-3,8.
std::string list_of(const std::vector<int>& processors);

// `copies` are those of the rank's device as JSON, see device_copies.hpp; empty where it has none.
void write_placement(JsonWriter& json, int rank, const Placement& placement,
                     const std::string& interface, const std::string& copies = "");

}  // namespace fabricgauge
