#include "round.hpp"

#include <fcntl.h>
#include <linux/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <list>
#include <utility>

#include "address.hpp"

namespace fabricgauge::connect {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds retry_after{100};
constexpr int flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
constexpr int most_waiting = 1024;  // connections that the kernel keeps until we accept them

class Descriptor {
public:
    explicit Descriptor(int number = -1) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() {
        if (number_ >= 0) close(number_);
    }
    int get() const { return number_; }
    explicit operator bool() const { return number_ >= 0; }

private:
    int number_;
};

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

enum class Phase { waiting, connecting, greeting, data, done };

const char* name_of(Phase phase) {
    switch (phase) {
        case Phase::waiting:
        case Phase::connecting: return "connect";
        case Phase::greeting: return "greeting";
        case Phase::data: return "data";
        case Phase::done: return "done";
    }
    return "";
}

// One connection, ours or a partner's: greeting and payload each way.
struct Connection {
    Descriptor socket;
    Ended ended;
    Phase phase = Phase::waiting;
    Clock::time_point began, progressed, retry_at;
    GreetingBytes in{}, out{};
    std::size_t received = 0, sent = 0, to_send = 0, to_receive = greeting_bytes;
    std::uint32_t bytes = 0;

    bool sends() const { return sent < to_send; }
    bool finished() const { return phase == Phase::done; }
    bool waits_its_turn() const {
        return !ended.accepted && phase == Phase::greeting && received == greeting_bytes;
    }
    bool has_all() const {
        const std::size_t all = greeting_bytes + bytes;
        return phase == Phase::data && sent == all && received == all && !ended.stranger;
    }
};

int error_of(int socket) {
    int error = 0;
    socklen_t length = sizeof error;
    return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

void read_segments(Connection& one) {
    tcp_info info{};
    socklen_t length = sizeof info;
    if (getsockopt(one.socket.get(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return;
    one.ended.segments = info.tcpi_data_segs_out;
    one.ended.resent = info.tcpi_total_retrans;
}

class Round {
public:
    Round(const Plan& plan, const Limits& limits, const Tell& tell)
        : plan_(plan), limits_(limits), tell_(tell) {}

    void listen(const TellListening& told);
    void play();

private:
    void begin(Connection& one);
    void connected(Connection& one);
    void accept_all(int listener);
    void send_some(Connection& one);
    void receive_some(Connection& one);
    void greeted(Connection& one);
    void serve(Connection& one, short ready);
    void end(Connection& one, int error);
    void watch_time(Connection& one);
    bool may_send_data() const { return busy_ < limits_.busy; }
    void let_waiting_send();
    bool over();

    const Plan& plan_;
    const Limits& limits_;
    const Tell& tell_;
    Clock::time_point began_{}, ours_ended_{};
    std::vector<Descriptor> listeners_;
    std::list<Connection> connections_;
    std::size_t ours_left_ = 0, accepted_ = 0;
    int busy_ = 0;
};

void Round::listen(const TellListening& told) {
    for (const std::string& text : plan_.listen) {
        const std::optional<Address> address = address_of(text, plan_.port);
        Descriptor socket(address ? ::socket(address->family(), SOCK_STREAM | flags, 0) : -1);
        const int yes = 1;
        const bool ok = socket &&
            setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
            bind(socket.get(), address->get(), address->length) == 0 &&
            ::listen(socket.get(), most_waiting) == 0;
        told(text, ok ? 0 : (address ? errno : EINVAL));
        if (ok) listeners_.push_back(std::move(socket));
    }
    for (const Partner& partner : plan_.partners) {
        Connection& one = connections_.emplace_back();
        one.ended.node = partner.node;
        one.ended.source = partner.source;
        one.ended.target = partner.target;
    }
    ours_left_ = plan_.partners.size();
}

void Round::begin(Connection& one) {
    const std::optional<Address> source = address_of(one.ended.source, 0);
    const std::optional<Address> target = address_of(one.ended.target, plan_.port);
    one.began = one.progressed = Clock::now();
    if (!source || !target) return end(one, EINVAL);
    one.socket = Descriptor(::socket(target->family(), SOCK_STREAM | flags, 0));
    const int number = one.socket.get();
    if (!one.socket || bind(number, source->get(), source->length) != 0) return end(one, errno);
    one.phase = Phase::connecting;
    const bool under_way = ::connect(number, target->get(), target->length) == 0;
    if (!under_way && errno != EINPROGRESS) end(one, errno);
}

void Round::connected(Connection& one) {
    if (const int error = error_of(one.socket.get())) return end(one, error);
    one.ended.connect_s = seconds(Clock::now() - one.began);
    one.progressed = Clock::now();
    one.phase = Phase::greeting;
    one.bytes = plan_.bytes;
    one.out = packed({plan_.node, plan_.bytes}, plan_.token);
    one.to_send = greeting_bytes;
}

void Round::accept_all(int listener) {
    for (;;) {
        sockaddr_storage from{}, to{};
        socklen_t length = sizeof from, own = sizeof to;
        Descriptor socket(accept4(listener, reinterpret_cast<sockaddr*>(&from), &length, flags));
        if (!socket) return;
        Connection& one = connections_.emplace_back();
        getsockname(socket.get(), reinterpret_cast<sockaddr*>(&to), &own);
        one.socket = std::move(socket);
        one.ended.accepted = true;
        one.ended.source = text_of(from);
        one.ended.target = text_of(to);
        one.phase = Phase::greeting;
        one.began = one.progressed = Clock::now();
    }
}

void Round::send_some(Connection& one) {
    static const std::array<char, 65536> payload{};
    while (one.sends()) {
        const bool greeting = one.sent < greeting_bytes;
        const char* from = greeting ? one.out.data() + one.sent : payload.data();
        const std::size_t left = (greeting ? greeting_bytes : one.to_send) - one.sent;
        const std::size_t most = std::min(payload.size(), left);
        const ssize_t count = send(one.socket.get(), from, most, MSG_NOSIGNAL);
        if (count < 0) {
            if (errno != EAGAIN && errno != EINTR) end(one, errno);
            return;
        }
        one.sent += static_cast<std::size_t>(count);
        one.progressed = Clock::now();
    }
}

void Round::receive_some(Connection& one) {
    std::array<char, 65536> rest;
    while (one.received < one.to_receive) {
        const bool greeting = one.received < greeting_bytes;
        char* into = greeting ? one.in.data() + one.received : rest.data();
        const std::size_t left = (greeting ? greeting_bytes : one.to_receive) - one.received;
        const std::size_t most = std::min(rest.size(), left);
        const ssize_t count = recv(one.socket.get(), into, most, 0);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (count <= 0) return end(one, count < 0 ? errno : ECONNRESET);
        one.received += static_cast<std::size_t>(count);
        one.progressed = Clock::now();
        if (one.received == greeting_bytes) {
            greeted(one);
            if (one.finished()) return;
        }
        // Its payload has begun: it is our turn.
        if (one.ended.accepted && one.received > greeting_bytes) one.to_send = one.to_receive;
    }
}

// The partner said who it is: payload follows.
void Round::greeted(Connection& one) {
    const std::optional<Greeting> greeting = unpacked(one.in, plan_.token);
    one.ended.stranger = !greeting;
    if (!greeting) return end(one, 0);
    one.ended.answered_by = greeting->node;
    if (one.ended.accepted) {
        one.ended.node = greeting->node;
        one.bytes = std::min(greeting->bytes, plan_.bytes);
        one.out = packed({plan_.node, one.bytes}, plan_.token);
        one.to_send = greeting_bytes;
        one.phase = Phase::data;
    }
    one.to_receive = greeting_bytes + one.bytes;
}

// Ours wait for their turn with payload once they are greeted.
void Round::let_waiting_send() {
    for (Connection& one : connections_) {
        if (!may_send_data()) return;
        if (!one.waits_its_turn()) continue;
        one.phase = Phase::data;
        one.to_send = greeting_bytes + one.bytes;
        one.progressed = Clock::now();
        ++busy_;
    }
}

void Round::serve(Connection& one, short ready) {
    if (one.phase == Phase::connecting) {
        if (ready) connected(one);
    }
    if (one.phase != Phase::greeting && one.phase != Phase::data) return;
    if (ready & (POLLIN | POLLHUP | POLLERR)) receive_some(one);
    if (!one.finished() && one.sends()) send_some(one);
    if (one.has_all()) end(one, 0);
}

void Round::end(Connection& one, int error) {
    const Clock::time_point now = Clock::now();
    const bool early =
        !plan_.held && one.phase <= Phase::connecting && now - began_ < limits_.start;
    if (error == ECONNREFUSED && early) {  // its program is not there yet
        one.socket = Descriptor();
        one.phase = Phase::waiting;
        one.retry_at = now + retry_after;
        return;
    }
    const bool whole = one.has_all() && error == 0;
    if (one.phase == Phase::data && !one.ended.accepted) --busy_;
    if (one.socket) read_segments(one);
    one.ended.phase = whole ? "done" : name_of(one.phase);
    one.ended.error = error;
    one.ended.whole_s = seconds(now - one.began);
    one.phase = Phase::done;
    if (one.ended.accepted) {
        ++accepted_;
    } else if (--ours_left_ == 0) {
        ours_ended_ = now;
    }
    tell_(one.ended);
}

void Round::watch_time(Connection& one) {
    const Clock::time_point now = Clock::now();
    if (one.phase == Phase::waiting) {
        if (now >= one.retry_at) begin(one);
        return;
    }
    if (one.finished()) return;
    const milliseconds limit = one.phase == Phase::connecting ? limits_.connect : limits_.silence;
    // A partner waits while we serve others first: it sees no progress either.
    const milliseconds patience = one.ended.accepted ? limit * 4 : limit;
    if (!one.waits_its_turn() && now - one.progressed > patience) end(one, 0);
}

bool Round::over() {
    if (ours_left_ > 0) return false;
    const auto waited = Clock::now() - std::max(ours_ended_, began_);
    return accepted_ >= plan_.expected || waited > limits_.linger;
}

void Round::play() {
    began_ = Clock::now();
    std::vector<pollfd> polled;
    std::vector<Connection*> behind;
    while (!over()) {
        for (Connection& one : connections_) watch_time(one);
        let_waiting_send();
        connections_.remove_if([](const Connection& one) { return one.finished(); });
        polled.clear();
        behind.clear();
        for (const Descriptor& listener : listeners_) polled.push_back({listener.get(), POLLIN, 0});
        for (Connection& one : connections_) {
            if (!one.socket) continue;
            const bool writes = one.phase == Phase::connecting || one.sends();
            const short events = writes ? POLLIN | POLLOUT : POLLIN;
            polled.push_back({one.socket.get(), events, 0});
            behind.push_back(&one);
        }
        poll(polled.data(), polled.size(), 20);
        for (std::size_t i = 0; i < behind.size(); ++i)
            serve(*behind[i], polled[listeners_.size() + i].revents);
        for (std::size_t i = 0; i < listeners_.size(); ++i)
            if (polled[i].revents) accept_all(listeners_[i].get());
    }
}

}  // namespace

void play(const Plan& plan, const Limits& limits, const TellListening& listening,
          const AwaitPartners& await_partners, const Tell& tell) {
    Round round(plan, limits, tell);
    round.listen(listening);
    await_partners();
    round.play();
}

}  // namespace fabricgauge::connect
