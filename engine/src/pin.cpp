#include "fabricgauge/pin.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "fabricgauge/number.hpp"

namespace fabricgauge {

namespace {

bool address_is_in(const Subnet& subnet, const sockaddr* address) {
    if (address == nullptr) return false;
    if (address->sa_family == AF_INET) {
        const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
        return subnet.contains(reinterpret_cast<const std::uint8_t*>(&v4->sin_addr), 4);
    }
    if (address->sa_family == AF_INET6) {
        const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
        return subnet.contains(v6->sin6_addr.s6_addr, 16);
    }
    return false;
}

LocalAddress of_entry(const ifaddrs& entry) {
    LocalAddress found{interface_of(entry.ifa_name), {}, sizeof(sockaddr_in), entry.ifa_name};
    if (entry.ifa_addr->sa_family == AF_INET6) found.octets = sizeof(sockaddr_in6);
    std::memcpy(&found.address, entry.ifa_addr, found.octets);
    return found;
}

std::string this_host() {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return name;
}

}  // namespace

std::optional<Subnet> Subnet::parse(const std::string& cidr) {
    const std::size_t slash = cidr.find('/');
    if (slash == std::string::npos) return std::nullopt;
    const std::string address = cidr.substr(0, slash);
    const std::optional<std::int64_t> bits = whole_number(cidr.substr(slash + 1));
    Subnet subnet;
    if (inet_pton(AF_INET, address.c_str(), subnet.prefix_.data()) == 1)
        subnet.octets_ = 4;
    else if (inet_pton(AF_INET6, address.c_str(), subnet.prefix_.data()) == 1)
        subnet.octets_ = 16;
    else
        return std::nullopt;
    if (!bits || *bits < 0 || *bits > static_cast<std::int64_t>(8 * subnet.octets_))
        return std::nullopt;
    subnet.bits_ = static_cast<int>(*bits);
    return subnet;
}

Subnet Subnet::of_option(const std::string& option, const std::string& cidr) {
    if (const std::optional<Subnet> subnet = parse(cidr)) return *subnet;
    throw OptionsError(option + ": '" + cidr +
                       "' is not understood; expected a subnet like 10.0.0.0/24");
}

bool Subnet::contains(const std::uint8_t* address, std::size_t octets) const noexcept {
    if (octets != octets_) return false;
    for (int bit = 0; bit < bits_; ++bit) {
        const auto octet = static_cast<std::size_t>(bit / 8);
        const int mask = 0x80 >> (bit % 8);
        if ((address[octet] & mask) != (prefix_[octet] & mask)) return false;
    }
    return true;
}

std::string interface_of(const std::string& label) { return label.substr(0, label.find(':')); }

std::string told_of(const std::string& variable, const std::string& label) {
    return variable.rfind("FI_", 0) == 0 ? label : interface_of(label);
}

std::optional<LocalAddress> address_in(const Subnet& subnet) {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return std::nullopt;
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next)
        if (address_is_in(subnet, entry->ifa_addr)) return of_entry(*entry);
    return std::nullopt;
}

LocalAddress pin(const PinOptions& options) {
    if (options.subnet.empty()) return {};
    const std::optional<LocalAddress> own = address_in(Subnet::of_option("--pin", options.subnet));
    if (!own)
        throw PinError("no interface of " + this_host() + " has an address in " + options.subnet +
                       "; give the subnet of a network that every node is on");
    for (const std::string& variable : options.interface_variables)
        setenv(variable.c_str(), told_of(variable, own->label).c_str(), 1);
    return *own;
}

}  // namespace fabricgauge
