// The RDMA ports of this node as its kernel shows them, and which of them and of its addresses to use.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "fabricgauge/pin.hpp"

namespace fabricgauge {

// An entry of a port's table of global identifiers (GIDs), by which others address it.
struct Gid {
    int index;
    std::array<std::uint8_t, 16> octets;
    std::string type;  // "IB/RoCE v1" or "RoCE v2"; empty if unknown

    // Like ::ffff:10.0.0.1, which stands for an IPv4 address (RFC 4291, 2.5.5.2).
    std::string text() const;
    bool is_of_ipv4() const noexcept;
};

struct RdmaPort {
    std::string device;
    int number;
    std::string state;       // like "4: ACTIVE"
    std::string link_layer;  // "InfiniBand" or "Ethernet"
    bool iwarp;
    std::vector<Gid> gids;  // those that are set

    std::string name() const { return device + ":" + std::to_string(number); }
    bool is_active() const { return state.find("ACTIVE") != std::string::npos; }
};

// No port, no address, or no verbs for the launch. The message lists the ports of this node.
class RdmaError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

std::vector<RdmaPort> read_rdma_ports(const std::string& directory = "/sys/class/infiniband");

// The first of `wanted` (device:port) that this node has; if empty, its first active port. Throws
// RdmaError if that cannot be used.
RdmaPort choose_port(const std::vector<RdmaPort>& ports, const std::vector<std::string>& wanted);

// That of `index`; else over Ethernet the one of RoCE v2 that is made of an IPv4 address, in
// `subnet` where one is; else the first. Throws RdmaError where there is none, OptionsError for a text
// that is no subnet; an empty one is none.
Gid choose_gid(const RdmaPort& port, std::optional<int> index, const std::string& subnet);

}  // namespace fabricgauge
