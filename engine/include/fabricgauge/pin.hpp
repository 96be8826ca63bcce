// Finds the interface to pin a launch to, and sets MPI's environment variables for it.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "fabricgauge/options.hpp"

namespace fabricgauge {

// An IPv4 or IPv6 subnet, as written in CIDR notation.
class Subnet {
public:
    // Nothing for a text that is no subnet.
    static std::optional<Subnet> parse(const std::string& cidr);
    // The value of an option. Throws OptionsError for a text that is no subnet.
    static Subnet of_option(const std::string& option, const std::string& cidr);
    // `address` is 4 or 16 octets in network order.
    bool contains(const std::uint8_t* address, std::size_t octets) const noexcept;

private:
    std::array<std::uint8_t, 16> prefix_{};
    std::size_t octets_ = 0;
    int bits_ = 0;
};

struct LocalAddress {
    std::string interface;
    sockaddr_storage address{};  // without a port
    socklen_t octets = 0;
    std::string label;  // eth0:1, say; the interface's name where the address was given none
};

// The interface of an address with that label. The kernel allows no colon in an interface's name.
std::string interface_of(const std::string& label);

// The value of a variable for an address with that label. libfabric's variables (FI_…) are compared
// with getifaddrs' names, which are labels; all other variables take an interface.
std::string told_of(const std::string& variable, const std::string& label);

// This node's first address in the subnet.
std::optional<LocalAddress> address_in(const Subnet& subnet);

// The subnet is on no interface of this node.
class PinError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Sets the variables and returns the address in the subnet, an empty one when nothing is pinned. To be
// called before MPI starts. Throws OptionsError for a text that is no subnet, PinError where no
// interface has an address in it.
LocalAddress pin(const PinOptions& options);

}  // namespace fabricgauge
