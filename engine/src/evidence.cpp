#include "fabricgauge/evidence.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include "fabricgauge/clock.hpp"
#include "fabricgauge/json.hpp"

namespace fabricgauge {

Evidence::Evidence(int rank, std::string host, bool reads_counters)
    : rank_(rank), host_(std::move(host)), reads_counters_(reads_counters) {}

void Evidence::before() {
    sockets_ = read_sockets();
    if (reads_counters_) counters_ = read_counters();
    processors_ = read_processors();
    began_ns_ = MonotonicClock{}.now_ns();
}

void Evidence::after(RankReport& report, const std::function<Sockets(Sockets)>& needed) {
    if (reads_counters_) report.counters = counters_json(read_counters());
    JsonWriter sockets;
    write_seen(sockets, of_both(sockets_, read_sockets(), since),
               [&](const Sockets& seen) { write_sockets(sockets, needed(seen)); });
    report.sockets = sockets.text();
    const double passed_s = static_cast<double>(MonotonicClock{}.now_ns() - began_ns_) * 1e-9;
    if (passed_s < shortest_for_shares_s)
        std::this_thread::sleep_for(std::chrono::duration<double>(shortest_for_shares_s - passed_s));
    JsonWriter processors;
    write_processor_use(processors, rank_, use_between(processors_, read_processors()));
    report.processors = processors.text();
}

// Only where there are any.
void Evidence::write_absent_counters(JsonWriter& json, const NodeCounters& now) const {
    std::map<std::string, std::string> absent = counters_.absent;
    absent.insert(now.absent.begin(), now.absent.end());
    if (absent.empty()) return;
    json.key("absent").begin_object();
    for (const auto& [name, reason] : absent) json.member(name, reason);
    json.end_object();
}

std::string Evidence::counters_json(const NodeCounters& now) const {
    JsonWriter json;
    json.begin_object().member("rank", rank_).member("host", host_).key("before");
    write_counters(json, counters_);
    json.key("after");
    write_counters(json, now);
    write_absent_counters(json, now);
    if (!now.ports.empty()) write_port_rises(json.key("ports"), counters_, now);
    json.key("read_utc_s").begin_array();
    json.value(counters_.read_utc_s).value(now.read_utc_s).end_array().end_object();
    return json.text();
}

}  // namespace fabricgauge
