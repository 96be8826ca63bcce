// The message layer over plain TCP sockets: the data of a pair go by one connection of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fabricgauge/json.hpp"
#include "fabricgauge/pair_limits.hpp"
#include "fabricgauge/pair_transport.hpp"
#include "fabricgauge/sockets.hpp"
#include "fabricgauge/tcp_connection.hpp"

namespace fabricgauge {

template <typename Control>
class SocketsTransport : public PairTransport<Control> {
public:
    // `traffic_class` is the TOS byte of the packets. Control gets the remaining arguments.
    template <typename... Rest>
    explicit SocketsTransport(const LocalAddress& own, int traffic_class, Rest&... rest)
        : PairTransport<Control>(rest...), own_(own), traffic_class_(traffic_class) {}

    std::string beyond(const Case& measured) const {
        return beyond_abilities(measured, Abilities::messages, "sockets");
    }

    // Collective; JSON at rank 0.
    std::string description() {
        JsonWriter json;
        json.begin_object().member("name", "sockets").member("traffic_class", traffic_class_);
        json.key("addresses").begin_array();
        for (const std::string& one : this->gather(text_of(own_.address)))
            json.value(one.substr(0, one.rfind(':')));
        json.end_array().end_object();
        return json.text();
    }

    // A connection stays until the launch ends, as MPIs keep theirs.
    void open_pair(const Case& measured, const Messages&) {
        const int peer = this->peer_in(measured);
        const auto [found, made] = connections_.try_emplace(
            peer, own_, peer, this->rank() > peer, traffic_class_);
        connection_ = &found->second;
        if (made) connection_->join(this->swap_with(peer, std::vector{connection_->address()}).front());
    }
    std::string close_pair() { return ""; }

    void send(const std::byte* data, std::int64_t bytes, int) {
        connection_->start_send(data, bytes);
        connection_->await_sent();
    }
    void receive(std::byte* data, std::int64_t bytes, int) {
        connection_->start_receive(data, bytes);
        connection_->await_received();
    }
    void start_send(std::int64_t, const std::byte* data, std::int64_t bytes, int) {
        connection_->start_send(data, bytes);
    }
    void start_receive(std::int64_t, std::byte* data, std::int64_t bytes, int) {
        connection_->start_receive(data, bytes);
    }
    void wait_all(std::int64_t) {
        connection_->await_received();
        connection_->await_sent();
    }

private:
    LocalAddress own_;
    int traffic_class_;
    std::map<int, TcpConnection> connections_;  // by the peer
    TcpConnection* connection_ = nullptr;       // of the case
};

}  // namespace fabricgauge
