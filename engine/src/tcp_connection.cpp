#include "fabricgauge/tcp_connection.hpp"

#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "fabricgauge/sockets.hpp"
#include "fabricgauge/transport.hpp"

namespace fabricgauge {

namespace {

constexpr timeval longest_connect{5, 0};

const sockaddr* plain(const SocketAddress& of) {
    return reinterpret_cast<const sockaddr*>(&of.address);
}

bool would_wait(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

void TcpConnection::Flow::passed(std::size_t bytes) noexcept {
    while (bytes > 0) {
        iovec& part = parts_[first_];
        const std::size_t step = std::min(bytes, part.iov_len);
        part.iov_base = static_cast<std::byte*>(part.iov_base) + step;
        part.iov_len -= step;
        bytes -= step;
        if (part.iov_len == 0) ++first_;
    }
}

TcpConnection::TcpConnection(const LocalAddress& own, int peer, bool listens, int traffic_class)
    : peer_(peer), listens_(listens),
      socket_(::socket(own.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      family_(own.address.ss_family), traffic_class_(traffic_class) {
    if (socket_ < 0) fail("no socket", errno);
    set_traffic_class();
    const SocketAddress here{own.address, own.octets};
    if (bind(socket_, plain(here), here.octets) != 0) fail("no port at the own address", errno);
    // Linux heeds the first one of them in connect, the other in accept: socket(7).
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &longest_connect, sizeof longest_connect);
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &longest_connect, sizeof longest_connect);
    if (listens && listen(socket_, 8) != 0) fail("the socket does not listen", errno);
}

TcpConnection::~TcpConnection() {
    if (socket_ >= 0) close(socket_);
}

SocketAddress TcpConnection::address() const {
    SocketAddress found{};
    found.octets = sizeof found.address;
    getsockname(socket_, reinterpret_cast<sockaddr*>(&found.address), &found.octets);
    return found;
}

int TcpConnection::traffic_class() const {
    int found = 0;
    socklen_t octets = sizeof found;
    const bool is_6 = family_ == AF_INET6;
    getsockopt(socket_, is_6 ? IPPROTO_IPV6 : IPPROTO_IP, is_6 ? IPV6_TCLASS : IP_TOS, &found, &octets);
    return found;
}

void TcpConnection::set_traffic_class() {
    if (traffic_class_ == 0) return;
    const bool is_6 = family_ == AF_INET6;
    const int level = is_6 ? IPPROTO_IPV6 : IPPROTO_IP;
    if (setsockopt(socket_, level, is_6 ? IPV6_TCLASS : IP_TOS, &traffic_class_, sizeof traffic_class_) != 0)
        fail("the kernel refused the traffic class", errno);
}

void TcpConnection::join(const SocketAddress& other) {
    if (listens_)
        accept_from(other);
    else if (connect(socket_, plain(other), other.octets) != 0)
        fail("no connection to " + text_of(other.address),
             errno == EINPROGRESS ? ETIMEDOUT : errno);
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    set_traffic_class();  // an accepted socket is a new one
    fcntl(socket_, F_SETFL, fcntl(socket_, F_GETFL) | O_NONBLOCK);
}

// A connection from any other address is closed.
void TcpConnection::accept_from(const SocketAddress& other) {
    for (;;) {
        SocketAddress caller{};
        caller.octets = sizeof caller.address;
        const int accepted = accept4(socket_, reinterpret_cast<sockaddr*>(&caller.address),
                                     &caller.octets, SOCK_CLOEXEC);
        if (accepted < 0 && errno == EINTR) continue;
        if (accepted < 0)
            fail("no connection from " + text_of(other.address), errno == EAGAIN ? ETIMEDOUT : errno);
        const bool meant = text_of(caller.address) == text_of(other.address);
        close(meant ? socket_ : accepted);
        if (!meant) continue;
        socket_ = accepted;
        return;
    }
}

bool TcpConnection::push() {
    if (out_.done()) return false;
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(out_.begin());
    message.msg_iovlen = std::min<std::size_t>(out_.count(), IOV_MAX);
    const ssize_t sent = sendmsg(socket_, &message, MSG_NOSIGNAL);
    if (sent < 0 && !would_wait(errno)) fail("sending failed", errno);
    if (sent > 0) out_.passed(static_cast<std::size_t>(sent));
    return sent > 0;
}

bool TcpConnection::pull() {
    if (in_.done()) return false;
    const auto parts = static_cast<int>(std::min<std::size_t>(in_.count(), IOV_MAX));
    const ssize_t taken = readv(socket_, in_.begin(), parts);
    if (taken == 0) fail("receiving failed: the peer has closed the connection", 0);
    if (taken < 0 && !would_wait(errno)) fail("receiving failed", errno);
    if (taken > 0) in_.passed(static_cast<std::size_t>(taken));
    return taken > 0;
}

void TcpConnection::advance() {
    const bool sent = push();
    if (pull() || sent) {
        empty_ = 0;
    } else if (++empty_ >= patience) {
        empty_ = 0;
        sched_yield();
    }
}

void TcpConnection::fail(const std::string& what, int error) const {
    const std::string reason = error == 0 ? "" : ": " + std::generic_category().message(error);
    throw TransportError("TCP socket to rank " + std::to_string(peer_) + ": " + what + reason);
}

}  // namespace fabricgauge
