#include "fabricgauge/sockets.hpp"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

namespace fabricgauge {

namespace {

constexpr unsigned char established = 1;  // TCP_ESTABLISHED of the kernel's net/tcp_states.h

std::string local_of(int descriptor) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "";
    return text_of(address);
}

std::string remote_of(int descriptor) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "";
    return text_of(address);
}

std::string congestion_of(int descriptor) {
    char name[17] = "";
    socklen_t length = sizeof name - 1;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, name, &length) != 0) return "";
    return name;
}

// The last field that is looked at; an older kernel's structure ends before it.
constexpr std::size_t needed_bytes =
    offsetof(tcp_info, tcpi_dsack_dups) + sizeof(tcp_info::tcpi_dsack_dups);

// Throws Absent where the kernel does not count what a connection sent.
std::optional<SocketState> state_of(int descriptor) {
    tcp_info info{};
    socklen_t length = sizeof info;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
    if (info.tcpi_state != established) return std::nullopt;
    if (length < needed_bytes)
        throw Absent{"TCP_INFO: this kernel does not count the bytes sent, Linux 4.19 does"};
    SocketState state;
    state.local = local_of(descriptor);
    state.remote = remote_of(descriptor);
    if (state.local.empty() || state.remote.empty()) return std::nullopt;
    state.sent_bytes = static_cast<std::int64_t>(info.tcpi_bytes_sent);
    state.received_bytes = static_cast<std::int64_t>(info.tcpi_bytes_received);
    state.retransmitted_segments = info.tcpi_total_retrans;
    state.spurious_segments = info.tcpi_dsack_dups;
    state.data_segments = info.tcpi_data_segs_out;
    state.acknowledgements = std::int64_t{info.tcpi_segs_out} - info.tcpi_data_segs_out;
    state.segment_bytes = info.tcpi_snd_mss;
    state.rtt_us = info.tcpi_rtt;
    state.busy_us = static_cast<std::int64_t>(info.tcpi_busy_time);
    state.rwnd_limited_us = static_cast<std::int64_t>(info.tcpi_rwnd_limited);
    state.sndbuf_limited_us = static_cast<std::int64_t>(info.tcpi_sndbuf_limited);
    state.congestion = congestion_of(descriptor);
    return state;
}

double seconds(std::int64_t microseconds) { return static_cast<double>(microseconds) * 1e-6; }

}  // namespace

std::string text_of(const sockaddr_storage& address) {
    char host[INET6_ADDRSTRLEN] = "";
    if (address.ss_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
        inet_ntop(AF_INET, &v4.sin_addr, host, sizeof host);
        return std::string(host) + ":" + std::to_string(ntohs(v4.sin_port));
    }
    if (address.ss_family == AF_INET6) {
        const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
        inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof host);
        return "[" + std::string(host) + "]:" + std::to_string(ntohs(v6.sin6_port));
    }
    return "";
}

Seen<Sockets> read_sockets(const std::string& descriptors) {
    Sockets found;
    std::error_code failed;
    try {
        for (const auto& entry : std::filesystem::directory_iterator(descriptors, failed)) {
            const int descriptor = std::atoi(entry.path().filename().c_str());
            struct stat about {};
            if (fstat(descriptor, &about) != 0 || !S_ISSOCK(about.st_mode)) continue;
            if (std::optional<SocketState> state = state_of(descriptor))
                found[about.st_ino] = *state;
        }
    } catch (const Absent& absent) {
        return absent;
    }
    if (failed) return Absent{descriptors + ": " + failed.message()};
    return found;
}

Sockets since(const Sockets& before, Sockets after) {
    for (auto& [inode, state] : after) {
        const auto known = before.find(inode);
        if (known == before.end()) continue;
        const SocketState& old = known->second;
        state.sent_bytes -= old.sent_bytes;
        state.received_bytes -= old.received_bytes;
        state.retransmitted_segments -= old.retransmitted_segments;
        state.spurious_segments -= old.spurious_segments;
        state.data_segments -= old.data_segments;
        state.acknowledgements -= old.acknowledgements;
        state.busy_us -= old.busy_us;
        state.rwnd_limited_us -= old.rwnd_limited_us;
        state.sndbuf_limited_us -= old.sndbuf_limited_us;
    }
    return after;
}

Sockets by_local_address(const Sockets& sockets) {
    std::map<std::string, SocketState> sums;
    std::map<std::string, std::int64_t> most_bytes;
    for (const auto& [inode, one] : sockets) {
        if (!has_carried(one)) continue;
        const std::string address = one.local.substr(0, one.local.rfind(':'));
        SocketState& sum = sums[address];
        if (sum.local.empty() || one.sent_bytes > most_bytes[address]) {
            most_bytes[address] = one.sent_bytes;
            sum.segment_bytes = one.segment_bytes;
            sum.rtt_us = one.rtt_us;
            sum.congestion = one.congestion;
        }
        sum.local = address + ":0";
        sum.sent_bytes += one.sent_bytes;
        sum.received_bytes += one.received_bytes;
        sum.retransmitted_segments += one.retransmitted_segments;
        sum.spurious_segments += one.spurious_segments;
        sum.data_segments += one.data_segments;
        sum.acknowledgements += one.acknowledgements;
        sum.busy_us += one.busy_us;
        sum.rwnd_limited_us += one.rwnd_limited_us;
        sum.sndbuf_limited_us += one.sndbuf_limited_us;
    }
    Sockets found;
    for (auto& [address, sum] : sums) found[found.size()] = std::move(sum);
    return found;
}

void write_sockets(JsonWriter& json, const Sockets& sockets) {
    json.begin_array();
    for (const auto& [inode, state] : sockets) {
        json.begin_object();
        json.member("local", state.local).member("remote", state.remote);
        json.member("sent_bytes", state.sent_bytes).member("received_bytes", state.received_bytes);
        json.member("retransmitted_segments", state.retransmitted_segments);
        json.member("spurious_segments", state.spurious_segments);
        json.member("data_segments", state.data_segments);
        json.member("acknowledgements", state.acknowledgements);
        json.member("segment_bytes", state.segment_bytes).member("rtt_s", seconds(state.rtt_us));
        json.member("busy_s", seconds(state.busy_us));
        json.member("rwnd_limited_s", seconds(state.rwnd_limited_us));
        json.member("sndbuf_limited_s", seconds(state.sndbuf_limited_us));
        json.member("congestion", state.congestion).end_object();
    }
    json.end_array();
}

}  // namespace fabricgauge
