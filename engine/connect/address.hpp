// IPv4 and IPv6 addresses with a port.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>

#include <optional>
#include <string>

namespace fabricgauge::connect {

struct Address {
    sockaddr_storage storage{};
    socklen_t length = 0;

    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
    int family() const { return storage.ss_family; }
};

// Nothing where `text` is no numeric address.
inline std::optional<Address> address_of(const std::string& text, std::uint16_t port) {
    Address address;
    auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
    if (inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        address.length = sizeof *v4;
        return address;
    }
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
    if (inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        address.length = sizeof *v6;
        return address;
    }
    return std::nullopt;
}

inline std::string text_of(const sockaddr_storage& storage) {
    char text[INET6_ADDRSTRLEN] = "";
    const void* where = storage.ss_family == AF_INET6
        ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr)
        : static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(storage).sin_addr);
    return inet_ntop(storage.ss_family, where, text, sizeof text) ? text : "";
}

}  // namespace fabricgauge::connect
