// What two nodes say to each other on a connection of the connectivity round.
//
// The side that connects sends a greeting and ``bytes`` of payload; the side that listens answers
// with its own greeting and as many bytes. A greeting carries the round's token and the number of
// the node that sends it, so that an answer from another program, or from another node that holds
// the same address, is told from the answer that was meant.
#pragma once

#include <arpa/inet.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace fabricgauge::connect {

constexpr std::size_t token_length = 16;
constexpr std::array<char, 8> magic{'f', 'g', 'c', 'o', 'n', 'n', '1', '\n'};
constexpr std::size_t greeting_bytes = magic.size() + token_length + 2 * sizeof(std::uint32_t);

using GreetingBytes = std::array<char, greeting_bytes>;

struct Greeting {
    std::uint32_t node = 0;
    std::uint32_t bytes = 0;
};

inline GreetingBytes packed(const Greeting& greeting, const std::string& token) {
    GreetingBytes out{};
    char* at = out.data();
    std::memcpy(at, magic.data(), magic.size());
    std::memcpy(at += magic.size(), token.data(), token_length);
    const std::uint32_t node = htonl(greeting.node), bytes = htonl(greeting.bytes);
    std::memcpy(at += token_length, &node, sizeof node);
    std::memcpy(at + sizeof node, &bytes, sizeof bytes);
    return out;
}

// Nothing for the greeting of another program or of another round.
inline std::optional<Greeting> unpacked(const GreetingBytes& in, const std::string& token) {
    const char* at = in.data();
    if (std::memcmp(at, magic.data(), magic.size()) != 0) return std::nullopt;
    if (std::memcmp(at += magic.size(), token.data(), token_length) != 0) return std::nullopt;
    std::uint32_t node = 0, bytes = 0;
    std::memcpy(&node, at += token_length, sizeof node);
    std::memcpy(&bytes, at + sizeof node, sizeof bytes);
    return Greeting{ntohl(node), ntohl(bytes)};
}

}  // namespace fabricgauge::connect
