// One node's part of the connectivity round: it listens on its addresses and connects to those of
// its partners, all at once, in one thread.
//
// Every attempt ends in an outcome: none is left waiting longer than `Limits` say. Payload is sent
// to at most `Limits::busy` partners at a time, so that a healthy network isn't congested.
#pragma once

#include <netinet/in.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "wire.hpp"

namespace fabricgauge::connect {

using Clock = std::chrono::steady_clock;

struct Limits {
    // Unless programs are held back until all of them listen, a partner's may start later than
    // ours: until then a refusal is no outcome.
    std::chrono::milliseconds start{6'000};
    // Linux repeats a lost SYN after 1 s and gives up an unanswered ARP request after 3 s.
    std::chrono::milliseconds connect{3'500};
    // Without any progress of the bytes. Repetitions come after 0.2, 0.4, 0.8 and 1.6 s.
    std::chrono::milliseconds silence{3'500};
    // How long the partners' connections are waited for once our own have ended.
    std::chrono::milliseconds linger{4'000};
    int busy = 4;
};

struct Partner {
    std::uint32_t node = 0;
    std::string source;
    std::string target;
};

struct Plan {
    std::string token;
    std::uint32_t node = 0;
    std::uint16_t port = 0;
    std::uint32_t bytes = 0;
    std::vector<std::string> listen;
    std::vector<Partner> partners;
    std::size_t expected = 0;  // connections that partners make to us
    bool held = false;         // all partners listen when we begin
};

// What became of one connection. `phase` is how far it came: connect, greeting, data, done.
struct Ended {
    bool accepted = false;  // the partner connected to us
    std::uint32_t node = 0;  // the partner, as it was meant or as it said itself
    std::string source;
    std::string target;
    std::string phase;
    int error = 0;         // errno; 0: nothing came in time, or all is well
    bool stranger = false;  // the answer was none of this round's
    std::uint32_t answered_by = 0;
    double connect_s = 0;
    double whole_s = 0;
    std::uint32_t segments = 0;
    std::uint32_t resent = 0;
};

using Tell = std::function<void(const Ended&)>;
// Told of each address that is listened on, with errno where that failed.
using TellListening = std::function<void(const std::string& address, int error)>;
// Returns once every partner listens, as far as that is known.
using AwaitPartners = std::function<void()>;

void play(const Plan& plan, const Limits& limits, const TellListening& listening,
          const AwaitPartners& await_partners, const Tell& tell);

}  // namespace fabricgauge::connect
