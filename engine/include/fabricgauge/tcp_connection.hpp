// One TCP connection to another rank, and the messages under way on it.
//
// TCP knows no messages. Both sides know the length of what comes next, so no length is sent. An
// empty message is one byte. Each message that is sent is a system call of its own; one call takes
// all that has come. A side that waits looks again and again, as MPIs do.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fabricgauge/pin.hpp"

namespace fabricgauge {

// The address of a socket. Ranks send it unchanged.
struct SocketAddress {
    sockaddr_storage address;
    socklen_t octets;
};

class TcpConnection {
public:
    // A socket at this node's address; one that `listens` waits for its peer. Its packets carry the
    // traffic class (TOS byte, without the two bits of ECN). Throws TransportError.
    TcpConnection(const LocalAddress& own, int peer, bool listens, int traffic_class = 0);
    ~TcpConnection();
    TcpConnection(const TcpConnection&) = delete;
    TcpConnection& operator=(const TcpConnection&) = delete;

    SocketAddress address() const;
    // As the kernel has it.
    int traffic_class() const;
    // With the peer's socket, from either side. Throws TransportError.
    void join(const SocketAddress& other);

    void start_send(const std::byte* data, std::int64_t bytes) {
        out_.add(const_cast<std::byte*>(data), bytes);
        if (out_.count() == 1) push();
    }
    void start_receive(std::byte* data, std::int64_t bytes) { in_.add(data, bytes); }
    void await_sent() {
        while (!out_.done()) advance();
        out_.clear();
    }
    void await_received() {
        while (!in_.done()) advance();
        in_.clear();
    }

private:
    // Pieces of memory in order; the first ones may have passed already.
    class Flow {
    public:
        void add(std::byte* data, std::int64_t bytes) {
            if (bytes > 0) parts_.push_back({data, static_cast<std::size_t>(bytes)});
            else parts_.push_back({&empty_, 1});
        }
        bool done() const noexcept { return first_ == parts_.size(); }
        std::size_t count() const noexcept { return parts_.size() - first_; }
        const iovec* begin() const noexcept { return parts_.data() + first_; }
        void clear() noexcept {
            parts_.clear();
            first_ = 0;
        }
        void passed(std::size_t bytes) noexcept;

    private:
        std::vector<iovec> parts_;
        std::size_t first_ = 0;
        std::byte empty_{};
    };

    // Looks in vain until others may have the processor: each is a system call.
    static constexpr int patience = 16;

    void set_traffic_class();
    void accept_from(const SocketAddress& other);
    // Return true if any bytes moved.
    bool push();
    bool pull();
    void advance();
    [[noreturn]] void fail(const std::string& what, int error) const;

    int peer_;
    bool listens_;
    int socket_;
    int family_;
    int traffic_class_;
    Flow out_;
    Flow in_;
    int empty_ = 0;
};

}  // namespace fabricgauge
