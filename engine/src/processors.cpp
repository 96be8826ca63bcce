#include "fabricgauge/processors.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <sstream>
#include <string>

namespace fabricgauge {

namespace {

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// Second column of /proc/self/schedstat, nanoseconds; 0 where the kernel does not keep it.
double run_delay_s() {
    std::int64_t running_ns = 0;
    std::int64_t waiting_ns = 0;
    std::ifstream("/proc/self/schedstat") >> running_ns >> waiting_ns;
    return static_cast<double>(waiting_ns) * 1e-9;
}

// Columns of proc(5): user nice system idle iowait irq softirq steal; guest times that may follow
// are contained in user and nice.
ProcessorTicks ticks_of(std::istringstream& columns) {
    std::array<std::int64_t, 8> column{};
    for (std::int64_t& value : column) columns >> value;
    ProcessorTicks ticks;
    ticks.idle = column[3] + column[4];
    ticks.softirq = column[6];
    ticks.steal = column[7];
    for (const std::int64_t value : column) ticks.total += value;
    return ticks;
}

// Idle and waiting times of a processor may go backwards by a tick, see proc(5).
std::int64_t grown(std::int64_t before, std::int64_t after) {
    return std::max<std::int64_t>(0, after - before);
}

double share(std::int64_t part, std::int64_t whole) {
    if (whole <= 0) return 0.0;
    return std::min(1.0, static_cast<double>(part) / static_cast<double>(whole));
}

ProcessorTicks between(const ProcessorTicks& before, const ProcessorTicks& after) {
    return {grown(before.idle, after.idle), grown(before.softirq, after.softirq),
            grown(before.steal, after.steal), grown(before.total, after.total)};
}

}  // namespace

std::vector<ProcessorTicks> parse_proc_stat(std::istream& text) {
    std::vector<ProcessorTicks> processors;
    for (std::string line; std::getline(text, line);) {
        std::istringstream columns(line);
        std::string name;
        columns >> name;
        // The line "cpu" is the sum of the others.
        if (name.rfind("cpu", 0) == 0 && name.size() > 3 &&
            std::isdigit(static_cast<unsigned char>(name[3])))
            processors.push_back(ticks_of(columns));
    }
    return processors;
}

ProcessorState read_processors() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::ifstream stat("/proc/stat");
    return {seconds(usage.ru_utime), seconds(usage.ru_stime), run_delay_s(), parse_proc_stat(stat)};
}

ProcessorUse use_between(const ProcessorState& before, const ProcessorState& after) {
    ProcessorTicks node;
    double busiest = 0.0;
    const std::size_t count = std::min(before.processors.size(), after.processors.size());
    for (std::size_t i = 0; i < count; ++i) {
        const ProcessorTicks passed = between(before.processors[i], after.processors[i]);
        node.idle += passed.idle;
        node.softirq += passed.softirq;
        node.steal += passed.steal;
        node.total += passed.total;
        busiest = std::max(busiest, share(passed.softirq, passed.total));
    }
    return {std::max(0.0, after.user_s - before.user_s),
            std::max(0.0, after.system_s - before.system_s),
            std::max(0.0, after.run_delay_s - before.run_delay_s),
            share(node.idle, node.total),
            share(node.softirq, node.total),
            share(node.steal, node.total),
            busiest};
}

void write_processor_use(JsonWriter& json, int rank, const ProcessorUse& use) {
    json.begin_object().member("rank", rank);
    json.member("user_s", use.user_s).member("system_s", use.system_s);
    json.member("run_delay_s", use.run_delay_s).member("node_idle_share", use.node_idle_share);
    json.member("node_softirq_share", use.node_softirq_share);
    json.member("node_steal_share", use.node_steal_share);
    json.member("busiest_softirq_share", use.busiest_softirq_share).end_object();
}

}  // namespace fabricgauge
