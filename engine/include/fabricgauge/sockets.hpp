// The TCP connections of this process, as the kernel's TCP_INFO describes them.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <map>
#include <string>

#include "fabricgauge/json.hpp"
#include "fabricgauge/seen.hpp"

namespace fabricgauge {

// Address and port as host:port, an IPv6 address in brackets; empty for another family.
std::string text_of(const sockaddr_storage& address);

// `remote` is empty where the state is of several connections.
struct SocketState {
    std::string local;
    std::string remote;
    std::int64_t sent_bytes = 0;
    std::int64_t received_bytes = 0;
    std::int64_t retransmitted_segments = 0;
    std::int64_t spurious_segments = 0;  // sent again although they had arrived (DSACK, RFC 2883)
    std::int64_t data_segments = 0;     // segments sent with payload, those sent again included
    std::int64_t acknowledgements = 0;  // segments sent without payload
    std::int64_t segment_bytes = 0;
    std::int64_t rtt_us = 0;
    std::int64_t busy_us = 0;
    std::int64_t rwnd_limited_us = 0;
    std::int64_t sndbuf_limited_us = 0;
    std::string congestion;
};

// By the socket's inode, which distinguishes a connection from a later one with the same addresses.
using Sockets = std::map<std::uint64_t, SocketState>;

// Established connections over IPv4 or IPv6. `descriptors` is a directory like /proc/self/fd.
Seen<Sockets> read_sockets(const std::string& descriptors = "/proc/self/fd");
// The connections of `after`, with counters as differences; one that was not there before counts
// from 0. Segment size, round-trip time and congestion control are as of `after`.
Sockets since(const Sockets& before, Sockets after);

inline bool has_carried(const SocketState& state) noexcept {
    return state.sent_bytes != 0 || state.received_bytes != 0;
}

// The needed values of many connections to many ranks: for each local address the sum of the bytes
// that they carried; all other values are those of the connection that sent most. Omits connections
// that carried nothing.
Sockets by_local_address(const Sockets& sockets);

void write_sockets(JsonWriter& json, const Sockets& sockets);

}  // namespace fabricgauge
