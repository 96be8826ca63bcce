#include "fabricgauge/records.hpp"

#include <ctime>

#include "fabricgauge/json.hpp"
#include "fabricgauge/times.hpp"
#include "fabricgauge/version.hpp"

namespace fabricgauge {

namespace {

// Never part of JSON text, which escapes it.
constexpr char separator = '\x1e';

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

void write_times(JsonWriter& json, const Recorder& recorder, double confidence) {
    json.key("times");
    if (recorder.samples() == 0) {
        json.null();
        return;
    }
    const Times times = times_of(recorder, confidence);
    json.begin_object();
    json.member("minimum_s", times.minimum_s).member("median_s", times.median_s);
    json.member("low_s", times.low_s).member("high_s", times.high_s);
    json.member("confidence", times.confidence).member("mean_s", times.mean_s);
    json.member("p90_s", times.p90_s).member("p99_s", times.p99_s);
    json.member("p999_s", times.p999_s).member("maximum_s", times.maximum_s).end_object();
}

void write_distribution(JsonWriter& json, const Recorder& recorder) {
    json.member("histogram_resolution", Histogram::resolution);
    json.key("histogram_ps").begin_array();
    for (const auto& [lower_ps, count] : recorder.histogram().buckets())
        json.begin_array().value(lower_ps).value(count).end_array();
    json.end_array();
    json.key("block_medians_s").begin_array();
    for (const double median_ps : recorder.blocks().medians_ps()) json.value(median_ps * 1e-12);
    json.end_array();
}

void write_check(JsonWriter& json, bool requested, const Mismatch& mismatch,
                 std::int64_t compared) {
    json.key("data_check").begin_object().member("requested", requested);
    json.member("ok", mismatch.found == 0).key("first_bad_offset_bytes");
    if (mismatch.found == 0)
        json.null().member("detail", "");
    else
        json.value(mismatch.offset).member("detail", describe(mismatch));
    json.member("samples", compared).end_object();
}

std::string without_braces(const std::string& object) { return object.substr(1, object.size() - 2); }

void write_list(JsonWriter& json, const char* name, const std::vector<RankReport>& reports,
                std::string RankReport::*part) {
    json.key(name).begin_array();
    for (const RankReport& report : reports)
        if (!(report.*part).empty()) json.raw(report.*part);
    json.end_array();
}

void write_list_if_any(JsonWriter& json, const char* name, const std::vector<RankReport>& reports,
                       std::string RankReport::*part) {
    for (const RankReport& report : reports)
        if (!(report.*part).empty()) return write_list(json, name, reports, part);
}

// Only values that differ from a case's defaults.
void write_settings(JsonWriter& json, const Case& measured) {
    if (measured.load != Load::none) json.member("load", name_of(measured.load));
    if (measured.epoch != Epoch::flush) json.member("epoch", name_of(measured.epoch));
    if (measured.threads != 1) json.member("threads", measured.threads);
    if (measured.buffers != Buffers::fewest) json.member("buffers", name_of(measured.buffers));
    if (measured.losing) json.member("losing", true);
}

template <typename Number>
void write_column(JsonWriter& json, const char* name, const std::vector<PairTime>& times,
                  Number PairTime::*part) {
    json.key(name).begin_array();
    for (const PairTime& time : times) json.value(time.*part);
    json.end_array();
}

}  // namespace

std::string header_record(const MpiVersion& mpi, int ranks, const ClockDescription& clock,
                          const std::vector<std::string>& libraries, const std::string& transport,
                          const MemoryOptions& memory) {
    JsonWriter json;
    json.begin_object().member("record", "header").member("format", "fabricgauge-engine");
    json.member("version", format_version).member("engine", engine_version);
    json.member("mpi_library", mpi.library).member("mpi_standard", mpi.standard);
    json.member("compiler", compiler_text()).member("ranks", ranks);
    json.member("started_utc", utc_now()).key("timer").begin_object().member("name", clock.name);
    json.member("resolution_s", clock.quality.resolution_s);
    json.member("overhead_s", clock.quality.overhead_s).end_object();
    json.member("simulated", clock.simulated).key("libraries").begin_array();
    for (const std::string& path : libraries) json.value(path);
    json.end_array();
    if (!transport.empty()) json.key("transport").raw(transport);
    if (memory.on_device()) {
        json.key("memory").begin_object().member("origin", name_of(memory.origin));
        json.member("target", name_of(memory.target)).end_object();
    }
    json.end_object();
    return json.text();
}

std::string memory_of_rank(int rank, MemoryKind kind, const DeviceMemory* device) {
    JsonWriter json;
    json.begin_object().member("rank", rank).member("kind", name_of(kind));
    if (device != nullptr)
        json.member("device", device->device_name()).member("number", device->device_number());
    json.end_object();
    return json.text();
}

std::string footer_record(std::size_t cases, double wall_s) {
    JsonWriter json;
    json.begin_object().member("record", "footer");
    json.member("cases", static_cast<std::int64_t>(cases)).member("wall_s", wall_s).end_object();
    return json.text();
}

std::string measured_members(const Measured& measured) {
    JsonWriter json;
    json.begin_object().member("stop", name_of(measured.stop));
    json.member("warmup_samples", measured.recorder.warmup_samples());
    json.member("samples", measured.recorder.samples()).member("batch", measured.batch);
    json.member("wall_s", measured.wall_s);
    if (measured.waiting) json.member("waiting", true);
    write_times(json, measured.recorder, measured.confidence);
    write_distribution(json, measured.recorder);
    write_check(json, measured.check_requested, measured.mismatch, measured.compared);
    json.end_object();
    return without_braces(json.text());
}

std::string unmeasured_members(bool check_requested) {
    const Recorder nothing(1);
    return measured_members({nothing, Stop::none, 1, 0.0, 0.0, check_requested, {}});
}

std::string pack(const RankReport& report) {
    return std::to_string(report.payload_sent_bytes) + separator + report.counters + separator +
           report.sockets + separator + report.processors + separator + report.measured + separator + report.together +
           separator + report.connection + separator + report.memory;
}

RankReport unpack(const std::string& text) {
    std::string parts[8];
    std::size_t begin = 0;
    for (std::string& part : parts) {
        const std::size_t end = text.find(separator, begin);
        part = text.substr(begin, end == std::string::npos ? end : end - begin);
        begin = end == std::string::npos ? text.size() : end + 1;
    }
    return {std::stoll(parts[0]), parts[1], parts[2], parts[3], parts[4], parts[5], parts[6], parts[7]};
}

std::string case_record(const Case& measured, const Outcome& outcome, const std::string& members,
                        const std::vector<RankReport>& reports) {
    JsonWriter json;
    json.begin_object().member("record", "case").member("case", measured.name);
    json.member("pattern", name_of(measured.pattern));
    json.member("message_bytes", measured.message_bytes).member("window", measured.window);
    json.member("origin", measured.origin).member("target", measured.target);
    json.member("status", outcome.status).member("reason", outcome.reason);
    json.raw(members).member("sample_payload_bytes", measured.sample_payload_bytes());
    json.key("payload_sent_bytes").begin_array();
    for (const RankReport& report : reports) json.value(report.payload_sent_bytes);
    json.end_array();
    write_list(json, "counters", reports, &RankReport::counters);
    write_list(json, "sockets", reports, &RankReport::sockets);
    write_list(json, "processors", reports, &RankReport::processors);
    write_settings(json, measured);
    write_list_if_any(json, "connections", reports, &RankReport::connection);
    write_list_if_any(json, "memory", reports, &RankReport::memory);
    if (!reports.empty() && !reports.front().together.empty())
        json.key("together").raw(reports.front().together);
    json.end_object();
    return json.text();
}

std::string round_record(const Case& measured, int round, int rounds, double wall_s,
                         const std::vector<PairTime>& times,
                         const std::optional<double>& clock_error_s) {
    JsonWriter json;
    json.begin_object().member("record", "round").member("case", measured.name);
    json.member("round", round).member("rounds", rounds);
    json.member("message_bytes", measured.message_bytes).member("window", measured.window);
    write_column(json, "origins", times, &PairTime::origin);
    write_column(json, "targets", times, &PairTime::target);
    write_column(json, "samples", times, &PairTime::samples);
    write_column(json, "minimum_ps", times, &PairTime::minimum_ps);
    write_column(json, "median_ps", times, &PairTime::median_ps);
    write_column(json, "quartile_ps", times, &PairTime::quartile_ps);
    if (clock_error_s) {
        write_column(json, "one_way_ps", times, &PairTime::one_way_ps);
        json.member("clock_error_s", *clock_error_s);
    }
    json.member("wall_s", wall_s).end_object();
    return json.text();
}

}  // namespace fabricgauge
