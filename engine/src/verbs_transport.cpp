#if __has_include(<infiniband/verbs.h>)

#include "fabricgauge/verbs_transport.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "fabricgauge/pair_limits.hpp"

namespace fabricgauge {

namespace {

std::string said(std::int64_t number) { return std::to_string(number); }

void write(JsonWriter& json, const std::string& what, const Readings& readings) {
    json.member(what + "_s", readings.median_s).key(what + "_bounds_s").begin_array();
    json.value(readings.least_s).value(readings.most_s).end_array();
}

}  // namespace

std::string beyond_verbs(const Case& measured, const VerbsLimits& limits,
                         const VerbsOptions& options) {
    const QueuePairKind kind = options.queue_pair;
    const Abilities can = limits.atomics != 0 ? Abilities::atomics : Abilities::one_sided;
    const std::string lacking = beyond_abilities(measured, can, "verbs");
    if (!lacking.empty()) return lacking;
    if (is_one_sided(measured.pattern) && !is_reliable(kind))
        return std::string("queue pairs of the kind ") + name_of(kind) +
               " tell of no arrival: one-sided operations need rc or xrc";
    const MessagesBy way = options.messages_by;
    if (way != MessagesBy::send && kind == QueuePairKind::ud)
        return std::string("datagrams are sends: messages by ") + name_of(way) + " need rc, uc or xrc";
    const bool is_one_way_message = measured.pattern == Pattern::latency && measured.message_bytes > 0;
    if (way == MessagesBy::write && !is_one_sided(measured.pattern) && !is_one_way_message)
        return "by a write that nothing tells of there is the latency of 1 B and more alone: leave"
               " messages-by=write out, or take write-imm";
    if (measured.message_bytes > limits.message_bytes)
        return std::string("the devices carry messages of up to ") + said(limits.message_bytes) +
               " B by " + name_of(kind);
    if (has_window(measured.pattern) && measured.window % options.queue_pairs != 0)
        return "a window of " + said(measured.window) + " cannot be spread evenly over " +
               said(options.queue_pairs) + " queue pairs";
    const bool shares = options.shared_receives || kind == QueuePairKind::xrc;
    if (shares && limits.shared_receives == 0)
        return "a device of the launch has no receives that queue pairs share";
    const std::int64_t receives = receives_for({nullptr, 0, 0, window_slots(measured), true});
    const std::int64_t most = shares ? limits.shared_receives : limits.requests;
    if (receives > most)
        return "a window of " + said(measured.window) + " needs " + said(receives) +
               " posted receives, and a queue of these devices holds " + said(most);
    return "";
}

Arrivals share_of(const Arrivals& arrivals, std::int64_t n, std::int64_t spread) {
    return {arrivals.data + n * arrivals.stride, arrivals.stride * spread, arrivals.bytes,
            arrivals.count / spread, arrivals.acknowledged && n == 0};
}

std::string VerbsCosts::json(int rank, int queue_pairs) const {
    JsonWriter json;
    json.begin_object().member("rank", rank).member("queue_pairs", queue_pairs);
    json.member("create_s", create_s).member("connect_s", connect_s);
    json.member("resident_bytes", resident_bytes).member("registered_bytes", registered_bytes);
    json.member("registrations", registrations);
    write(json, "register", registering);
    write(json, "release", releasing);
    json.end_object();
    return json.text();
}

Readings readings_of(std::vector<double> times_s) {
    std::sort(times_s.begin(), times_s.end());
    return {times_s[times_s.size() / 2], times_s.front(), times_s.back()};
}

// The second number of statm counts pages: proc_pid_statm(5).
std::int64_t resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    std::int64_t all = 0;
    std::int64_t resident = 0;
    statm >> all >> resident;
    return resident * sysconf(_SC_PAGESIZE);
}

Arrivals arrivals_of(const Case& measured, const Slots& slots, bool at_origin) {
    const Arrivals messages{slots.in, slots.in_stride, measured.message_bytes, window_slots(measured),
                            false};
    const Arrivals none{nullptr, 0, 0, 0, false};
    const Arrivals acknowledgement{nullptr, 0, 0, 0, true};
    switch (measured.pattern) {
        case Pattern::latency:
        case Pattern::ping_ping: return messages;
        case Pattern::bandwidth: return at_origin ? acknowledgement : messages;
        case Pattern::bidirectional_bandwidth: {
            Arrivals both = messages;
            both.acknowledged = at_origin;
            return both;
        }
        default: return none;
    }
}

}  // namespace fabricgauge

#endif
