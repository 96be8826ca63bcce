#if __has_include(<infiniband/verbs.h>)

#include "fabricgauge/verbs_transport.hpp"

#include <unistd.h>

#include <fstream>

#include "fabricgauge/pair_limits.hpp"

namespace fabricgauge {

namespace {

std::string said(std::int64_t number) { return std::to_string(number); }

}  // namespace

std::string beyond_verbs(const Case& measured, const VerbsLimits& limits,
                         const VerbsOptions& options) {
    const QueuePairKind kind = options.queue_pair;
    const Abilities can = limits.atomics != 0 ? Abilities::atomics : Abilities::one_sided;
    const std::string lacking = beyond_abilities(measured, can, "verbs");
    if (!lacking.empty()) return lacking;
    if (is_one_sided(measured.pattern) && kind != QueuePairKind::rc)
        return std::string("queue pairs of the kind ") + name_of(kind) +
               " tell of no arrival: one-sided operations need rc";
    if (measured.message_bytes > limits.message_bytes)
        return std::string("the devices carry messages of up to ") + said(limits.message_bytes) +
               " B by " + name_of(kind);
    if (has_window(measured.pattern) && measured.window % options.queue_pairs != 0)
        return "a window of " + said(measured.window) + " cannot be spread evenly over " +
               said(options.queue_pairs) + " queue pairs";
    const std::int64_t receives = receives_for({nullptr, 0, 0, window_slots(measured), true});
    if (receives > limits.requests)
        return "a window of " + said(measured.window) + " needs " + said(receives) +
               " posted receives, and a queue of these devices holds " + said(limits.requests);
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
    json.member("register_s", register_s).member("release_s", release_s).end_object();
    return json.text();
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
