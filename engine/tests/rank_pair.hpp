// Two ranks of one process that measure a pair over a transport beside MPI.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "fabricgauge/clock.hpp"
#include "fabricgauge/measuring.hpp"
#include "loopback.hpp"

namespace fabricgauge {

// Control messages of two threads, with the little that the transport gathers.
struct Control : loopback::Transport {
    Control(loopback::Wire& wire, int rank) : Transport(wire, rank), all(wire) {}

    std::vector<std::string> gather(const std::string& text) {
        if (rank() == 1) {
            push(0, text);
            return {};
        }
        return {text, pop()};
    }
    void broadcast(std::string& text) {
        if (rank() == 0) push(1, text);
        else text = pop();
    }
    void push(int to, const std::string& text) {
        const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
        all.tokens[to].push({begin, begin + text.size()});
    }
    std::string pop() {
        const loopback::Bytes bytes = all.tokens[rank()].pop();
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }

    loopback::Wire& all;
};

inline Case with(Pattern pattern, std::int64_t bytes, std::int64_t window = 1) {
    return {"a", pattern, bytes, window, 0, 1, 0.2};
}

constexpr Precision plain{0.01, 0.95, 200, 20e-9, false};
constexpr Precision checking{0.01, 0.95, 50, 20e-9, true};

// What both sides of a case do, over the transport that is made of `rest`; returns what the origin found.
template <typename Transport, typename... Rest>
OriginResult measure_pair(const Case& measured, const Precision& precision, const Rest&... rest) {
    loopback::Wire wire;
    OriginResult found;
    const auto side = [&](int rank) {
        Transport transport(rest..., wire, rank);
        std::byte* const window =
            is_one_sided(measured.pattern)
                ? transport.open_window(measured.sample_payload_bytes(), 0, 1, Epoch::flush)
                : nullptr;
        Messages messages(measured, precision.check_data, window);
        transport.open_pair(measured, messages);
        // As a launch has it: both sides are ready before one begins.
        transport.fence();
        if (rank == 0)
            found = measure_as_origin(transport, MonotonicClock{}, messages, measured, precision);
        else
            measure_as_target(transport, messages, measured);
        transport.fence();
        transport.close_pair();
    };
    std::thread target(side, 1);
    side(0);
    target.join();
    return found;
}

}  // namespace fabricgauge
