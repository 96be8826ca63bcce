// A long watch: messages between neighbours at a steady pace, and what each interval saw.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "fabricgauge/counters.hpp"
#include "fabricgauge/json.hpp"
#include "fabricgauge/options.hpp"

namespace fabricgauge::soak {

struct Pace {
    double seconds = 0.0;
    int bytes = 0;
    std::int64_t period_ns = 0;
    std::int64_t interval_ns = 1'000'000'000;
    // A message that takes this many times its usual time is slow, beyond an allowance for hosts.
    double threshold = 1.3;
};

struct SoakOptions {
    Pace pace;
    PinOptions pin;
};

// Throws OptionsError for words that are not understood.
SoakOptions parse_soak_options(const std::vector<std::string>& words);

// A message that took long. While a process does not run, its messages wait: `own_stopped_s` and
// `peer_stopped_s` are the times that the two processes did not run meanwhile.
struct SlowMessage {
    double at_s;
    double time_s;
    double own_stopped_s;
    double peer_stopped_s;
};

// The times of one kind of message over an interval, against the usual one. Memory is bounded.
class Times {
public:
    Times(double threshold, double allowance_s) : threshold_(threshold), allowance_s_(allowance_s) {}

    void add(const SlowMessage& message);
    // Writes the interval's members and begins the next.
    void write(JsonWriter& json, const std::string& prefix);

private:
    double threshold_;
    double allowance_s_;
    std::vector<double> times_s_;
    std::vector<SlowMessage> slow_;
    std::int64_t slow_messages_ = 0;
    std::deque<double> medians_s_;
    double usual_s_ = 0.0;
};

// How long this process did not run, from the gaps between its looks at the clock. A look comes
// after a sleep of 50 us, or after a copy of one message.
class StoppedTime {
public:
    explicit StoppedTime(int bytes) : longest_look_ns_(500'000 + bytes / 4) {}

    void look(std::int64_t now_ns);
    std::int64_t total_ns() const noexcept { return total_ns_; }

private:
    std::int64_t longest_look_ns_;
    std::int64_t last_ns_ = 0;
    std::int64_t total_ns_ = 0;
};

// Writes what rose since the last call: counters of interfaces and ports, TCP's segments sent again.
class Rises {
public:
    void write(JsonWriter& json);

private:
    NodeCounters before_ = read_counters();
    std::int64_t retransmitted_ = 0;
    bool known_ = false;
};

}  // namespace fabricgauge::soak
