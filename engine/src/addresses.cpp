#include "fabricgauge/addresses.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <sstream>

namespace fabricgauge {

namespace {

std::string text_of(const sockaddr* address) {
    char text[INET6_ADDRSTRLEN] = "";
    if (address->sa_family == AF_INET)
        inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text,
                  sizeof text);
    else if (address->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text,
                  sizeof text);
    return text;
}

// A socket for both families shows IPv4 addresses in this form: RFC 4291, 2.5.5.2.
constexpr const char* mapped = "::ffff:";

std::string host_of(const std::string& endpoint) {
    const bool bracketed = endpoint.rfind('[', 0) == 0;
    const std::string host = bracketed ? endpoint.substr(1, endpoint.find(']') - 1)
                                       : endpoint.substr(0, endpoint.rfind(':'));
    const bool v4 = host.rfind(mapped, 0) == 0 && host.find('.') != std::string::npos;
    return v4 ? host.substr(std::string(mapped).size()) : host;
}

}  // namespace

std::string own_addresses() {
    std::string found;
    ifaddrs* first = nullptr;
    if (getifaddrs(&first) != 0) return found;
    for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
        const std::string text = text_of(one->ifa_addr);
        if (!text.empty()) found += (found.empty() ? "" : ",") + text;
    }
    freeifaddrs(first);
    return found;
}

void NodeAddresses::add(int node, const std::string& addresses) {
    std::istringstream list(addresses);
    for (std::string address; std::getline(list, address, ',');) nodes_[address].insert(node);
}

bool NodeAddresses::is_elsewhere(const std::string& endpoint, int node) const {
    const auto known = nodes_.find(host_of(endpoint));
    return known != nodes_.end() && known->second.count(node) == 0;
}

}  // namespace fabricgauge
