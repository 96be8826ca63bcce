#include "fabricgauge/sockets.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "check.hpp"

using namespace fabricgauge;

namespace {

// Two ends of a TCP connection over loopback, both in this process.
class Connection {
public:
    Connection() {
        const int listener = socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address;
        bind(listener, reinterpret_cast<sockaddr*>(&address), length);
        listen(listener, 1);
        getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
        client = socket(AF_INET, SOCK_STREAM, 0);
        connect(client, reinterpret_cast<sockaddr*>(&address), length);
        server = accept(listener, nullptr, nullptr);
        port = ntohs(address.sin_port);
        close(listener);
    }
    ~Connection() {
        close(client);
        close(server);
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    void transfer(std::size_t bytes) const {
        std::vector<char> data(bytes, 'x');
        check::expect_equal(write(client, data.data(), bytes), static_cast<ssize_t>(bytes));
        check::expect_equal(recv(server, data.data(), bytes, MSG_WAITALL), static_cast<ssize_t>(bytes));
    }

    int client = -1;
    int server = -1;
    int port = 0;
};

SocketState towards(const Sockets& sockets, int port) {
    for (const auto& [inode, state] : sockets)
        if (state.remote == "127.0.0.1:" + std::to_string(port)) return state;
    return {};
}

}  // namespace

int main() {
    check::test("a connection's bytes are a difference", [] {
        const Connection connection;
        connection.transfer(1000);
        const Sockets before = read_sockets().value();
        connection.transfer(5000);
        const SocketState found = towards(since(before, read_sockets().value()), connection.port);
        check::expect_equal(found.sent_bytes, 5000);
        check::expect(found.segment_bytes > 0);
        check::expect(!found.congestion.empty());
    });
    check::test("a connection opened meanwhile counts from 0", [] {
        const Sockets before = read_sockets().value();
        const Connection connection;
        connection.transfer(700);
        check::expect_equal(towards(since(before, read_sockets().value()), connection.port).sent_bytes, 700);
    });
    check::test("a listening socket is no connection", [] {
        const int listener = socket(AF_INET, SOCK_STREAM, 0);
        listen(listener, 1);
        const std::size_t with = read_sockets().value().size();
        close(listener);
        check::expect_equal(with, read_sockets().value().size());
    });
    check::test("connections that cannot be seen are absent with the reason", [] {
        check::expect_equal(read_sockets("/nonexistent").absent().reason,
                            "/nonexistent: No such file or directory");
    });
    check::test("connections of one local address are added up, idle ones are left out", [] {
        SocketState few, most, idle, other;
        few.local = most.local = "10.0.0.1:5";
        idle.local = "10.0.0.3:6";
        other.local = "[fd00::1]:7";
        few.sent_bytes = 10;
        few.retransmitted_segments = 2;
        few.spurious_segments = 1;
        few.segment_bytes = 536;
        few.data_segments = 3;
        most.acknowledgements = 4;
        most.sent_bytes = 1000;
        most.busy_us = 7;
        most.segment_bytes = 1448;
        other.received_bytes = 3;
        const Sockets sums = by_local_address({{1, few}, {2, most}, {3, idle}, {4, other}});
        check::expect_equal(sums.size(), std::size_t{2});
        check::expect_equal(sums.at(0).local, "10.0.0.1:0");
        check::expect_equal(sums.at(0).remote, "");
        check::expect_equal(sums.at(0).sent_bytes, 1010);
        check::expect_equal(sums.at(0).retransmitted_segments, 2);
        check::expect_equal(sums.at(0).spurious_segments, 1);
        check::expect_equal(sums.at(0).data_segments, 3);
        check::expect_equal(sums.at(0).acknowledgements, 4);
        check::expect_equal(sums.at(0).segment_bytes, 1448);
        check::expect_equal(sums.at(0).busy_us, 7);
        check::expect_equal(sums.at(1).local, "[fd00::1]:0");
    });
    return check::outcome();
}
