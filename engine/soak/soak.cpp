#include "soak.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "fabricgauge/number.hpp"

namespace fabricgauge::soak {

namespace {

// Intervals whose medians make the usual time, and slow messages that one interval lists.
constexpr std::size_t usual_intervals = 64;
constexpr std::size_t most_slow = 64;

double positive(const std::string& name, const std::string& text) {
    const auto number = real_number(text);
    if (!number || *number <= 0) throw OptionsError(name + ": '" + text + "' is not above 0");
    return *number;
}

double median_of(std::vector<double> values) {
    if (values.empty()) return 0.0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// Segments that TCP sent again in this network namespace (proc(5), net/snmp).
std::int64_t retransmitted_segments() {
    std::ifstream file("/proc/self/net/snmp");
    std::string names, values;
    while (std::getline(file, names) && std::getline(file, values)) {
        std::istringstream name_words(names), value_words(values);
        std::string name, value;
        while (name_words >> name && value_words >> value)
            if (name == "RetransSegs") return whole_number(value).value_or(0);
    }
    return 0;
}

void write_rise(JsonWriter& json, const char* name, std::int64_t before, std::int64_t after) {
    if (after != before) json.member(name, after - before);
}

void write_rise(JsonWriter& json, const char* name, const Seen<std::int64_t>& before,
                const Seen<std::int64_t>& after) {
    if (before.known() && after.known()) write_rise(json, name, before.value(), after.value());
}

}  // namespace

SoakOptions parse_soak_options(const std::vector<std::string>& words) {
    SoakOptions options;
    Pace& pace = options.pace;
    for (std::size_t place = 0; place < words.size(); place += 2) {
        const std::string& name = words[place];
        if (place + 1 == words.size()) throw OptionsError(name + " needs a value");
        const std::string& value = words[place + 1];
        if (name == "--seconds") pace.seconds = positive(name, value);
        else if (name == "--bytes") pace.bytes = static_cast<int>(positive(name, value));
        else if (name == "--period-us") pace.period_ns = std::llround(positive(name, value) * 1e3);
        else if (name == "--interval") pace.interval_ns = std::llround(positive(name, value) * 1e9);
        else if (name == "--threshold") pace.threshold = positive(name, value);
        else if (name == "--pin") options.pin.subnet = value;
        else if (name == "--interface-env") options.pin.interface_variables.push_back(value);
        else throw OptionsError("unknown option " + name);
    }
    if (pace.seconds <= 0 || pace.bytes <= 0 || pace.period_ns <= 0)
        throw OptionsError("--seconds, --bytes and --period-us are needed");
    return options;
}

void Times::add(const SlowMessage& message) {
    times_s_.push_back(message.time_s);
    if (usual_s_ == 0.0 || message.time_s <= threshold_ * usual_s_ + allowance_s_) return;
    ++slow_messages_;
    if (slow_.size() < most_slow) slow_.push_back(message);
}

void Times::write(JsonWriter& json, const std::string& prefix) {
    const double median_s = median_of(times_s_);
    const auto worst = std::max_element(times_s_.begin(), times_s_.end());
    json.member(prefix + "messages", static_cast<std::int64_t>(times_s_.size()));
    json.member(prefix + "median_s", median_s);
    json.member(prefix + "worst_s", worst == times_s_.end() ? 0.0 : *worst);
    json.member(prefix + "usual_s", usual_s_);
    json.member(prefix + "slow_messages", slow_messages_);
    json.key(prefix + "slow").begin_array();
    for (const SlowMessage& message : slow_) {
        json.begin_array().value(message.at_s).value(message.time_s);
        json.value(message.own_stopped_s).value(message.peer_stopped_s).end_array();
    }
    json.end_array();
    // An interval of slow messages must not become the usual one.
    if (!times_s_.empty() && slow_messages_ * 2 <= static_cast<std::int64_t>(times_s_.size())) {
        medians_s_.push_back(median_s);
        if (medians_s_.size() > usual_intervals) medians_s_.pop_front();
        usual_s_ = median_of({medians_s_.begin(), medians_s_.end()});
    }
    times_s_.clear();
    slow_.clear();
    slow_messages_ = 0;
}

void StoppedTime::look(std::int64_t now_ns) {
    if (last_ns_ != 0 && now_ns - last_ns_ > longest_look_ns_) total_ns_ += now_ns - last_ns_;
    last_ns_ = now_ns;
}

void Rises::write(JsonWriter& json) {
    const NodeCounters after = read_counters();
    json.key("rises").begin_object();
    for (const auto& [name, now] : after.interfaces) {
        const auto was = before_.interfaces.find(name);
        if (name == "lo" || was == before_.interfaces.end()) continue;
        json.key(name).begin_object();
        write_rise(json, "rx_bytes", was->second.rx_bytes, now.rx_bytes);
        write_rise(json, "tx_bytes", was->second.tx_bytes, now.tx_bytes);
        write_rise(json, "rx_errors", was->second.rx_errors, now.rx_errors);
        write_rise(json, "tx_errors", was->second.tx_errors, now.tx_errors);
        write_rise(json, "rx_dropped", was->second.rx_dropped, now.rx_dropped);
        write_rise(json, "tx_dropped", was->second.tx_dropped, now.tx_dropped);
        if (now.link && was->second.link)
            for (const auto& [count, value] : now.link->counts) {
                const auto former = was->second.link->counts.find(count);
                if (former != was->second.link->counts.end())
                    write_rise(json, count.c_str(), former->second, value);
            }
        json.end_object();
    }
    json.end_object();
    write_port_rises(json.key("port_rises"), before_, after);
    const std::int64_t retransmitted = retransmitted_segments();
    if (known_) json.member("retransmitted_segments", retransmitted - retransmitted_);
    retransmitted_ = retransmitted;
    known_ = true;
    before_ = after;
}

}  // namespace fabricgauge::soak
