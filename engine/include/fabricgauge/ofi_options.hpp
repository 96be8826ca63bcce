// The options of a launch over libfabric; libfabric chooses those that are not set.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace fabricgauge {

struct OfiOptions {
    std::string provider;  // as libfabric names it, layers and all: tcp;ofi_rxm
    std::vector<std::string> domains;  // beginnings of names, like mlx5_0; any of them will do
    // Else plain messages, which are matched by their order alone; unsaid, tagged where there are.
    std::optional<bool> tagged;
};

// No libfabric, or no provider for the launch.
class OfiError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace fabricgauge
