#include "fabricgauge/sockets_transport.hpp"

#include <functional>
#include <optional>
#include <thread>

#include "check.hpp"
#include "rank_pair.hpp"

using namespace fabricgauge;

namespace {

constexpr Pattern patterns[] = {Pattern::latency, Pattern::bandwidth,
                                Pattern::bidirectional_bandwidth, Pattern::ping_ping};

LocalAddress loopback_address() { return *address_in(*Subnet::parse("127.0.0.0/8")); }

OriginResult measure(const Case& measured, const Precision& precision) {
    return measure_pair<SocketsTransport<Control>>(measured, precision, loopback_address(), 16);
}

// Two ends that know each other's address.
struct Ends {
    std::optional<TcpConnection> one{std::in_place, loopback_address(), 1, false, 187};
    std::optional<TcpConnection> other{std::in_place, loopback_address(), 0, true, 16};

    // `first` is what is done while the other end waits.
    void join(const std::function<void()>& first = [] {}) {
        std::thread waits([this] { other->join(one->address()); });
        first();
        one->join(other->address());
        waits.join();
    }
};

}  // namespace

int main() {
    check::test("every pattern of messages carries its data, empty and long ones too", [] {
        for (const Pattern pattern : patterns)
            for (const std::int64_t bytes : {0, 8, 1 << 20}) {
                const std::int64_t window = has_window(pattern) ? 7 : 1;
                const Case measured = with(pattern, bytes, window);
                check::expect(measure(measured, plain).recorder.samples() > 0);
                check::expect_equal(measure(measured, checking).mismatch.found, 0);
            }
    });
    check::test("a caller that is not the peer is turned away", [] {
        Ends ends;
        TcpConnection stranger(loopback_address(), 1, false);
        ends.join([&] { stranger.join(ends.other->address()); });
        std::byte sent{7};
        std::byte found{0};
        ends.one->start_send(&sent, 1);
        ends.one->await_sent();
        ends.other->start_receive(&found, 1);
        ends.other->await_received();
        check::expect(found == sent);
        stranger.start_receive(&found, 1);
        check::expect_error<TransportError>([&] { stranger.await_received(); },
                                            "TCP socket to rank 1: receiving failed");
    });
    check::test("each end sends in its traffic class, without the bits of ECN", [] {
        Ends ends;
        ends.join();
        check::expect_equal(ends.one->traffic_class(), 184);
        check::expect_equal(ends.other->traffic_class(), 16);
        TcpConnection usual(loopback_address(), 1, false);
        check::expect_equal(usual.traffic_class(), 0);
    });
    check::test("an end that is closed is named and nothing waits", [] {
        Ends ends;
        ends.join();
        ends.other.reset();
        std::byte memory{0};
        ends.one->start_receive(&memory, 1);
        check::expect_error<TransportError>([&] { ends.one->await_received(); },
                                            "the peer has closed the connection");
    });
    check::test("a peer that does not listen is named with its address", [] {
        Ends ends;
        const SocketAddress gone = ends.other->address();
        ends.other.reset();
        check::expect_error<TransportError>([&] { ends.one->join(gone); },
                                            "no connection to 127.0.0.1:");
    });
    check::test("what sockets cannot do is said", [] {
        check::expect_equal(
            beyond_abilities(with(Pattern::put_latency, 8), Abilities::messages, "sockets"),
            "sockets have no put_latency: measure it over MPI");
    });
    return check::outcome();
}
