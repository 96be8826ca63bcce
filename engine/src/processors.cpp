#include "fabricgauge/processors.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fabricgauge {

namespace {

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

std::atomic<std::int64_t> ended_threads_ns{0};

// Columns of a thread's schedstat, see the kernel's Documentation/scheduler/sched-stats.rst.
struct Schedstat {
    std::int64_t running_ns = 0;
    std::int64_t waiting_ns = 0;
    std::int64_t turns = 0;
};

Seen<Schedstat> read_schedstat(const std::string& path) {
    errno = 0;
    std::ifstream file(path);
    if (!file) return cannot_read(path);
    Schedstat read;
    if (!(file >> read.running_ns >> read.waiting_ns >> read.turns))
        return Absent{path + ": not three numbers"};
    // A thread that reads has run: the kernel writes zeros where it does not count.
    if (read.running_ns == 0 && read.waiting_ns == 0 && read.turns == 0)
        return Absent{path + ": this kernel does not count waiting (kernel.task_delayacct is off)"};
    return read;
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

Seen<std::vector<ProcessorTicks>> read_proc_stat(const std::string& path) {
    errno = 0;
    std::ifstream file(path);
    if (!file) return cannot_read(path);
    std::vector<ProcessorTicks> processors = parse_proc_stat(file);
    if (processors.empty()) return Absent{path + ": no processor in it"};
    return processors;
}

// A thread that began meanwhile counts from 0, as does what has ended.
double waited_between_s(const RunDelays& before, const RunDelays& after) {
    std::int64_t waited_ns = 0;
    for (const auto& [thread, ns] : after) {
        const auto known = before.find(thread);
        waited_ns += grown(known == before.end() ? 0 : known->second, ns);
    }
    return static_cast<double>(waited_ns) * 1e-9;
}

Seen<NodeShares> node_between(const ProcessorState& before, const ProcessorState& after) {
    if (!before.processors.known()) return before.processors.absent();
    if (!after.processors.known()) return after.processors.absent();
    ProcessorTicks node;
    double busiest = 0.0;
    const std::vector<ProcessorTicks>& first = before.processors.value();
    const std::vector<ProcessorTicks>& last = after.processors.value();
    for (std::size_t i = 0; i < std::min(first.size(), last.size()); ++i) {
        const ProcessorTicks passed = between(first[i], last[i]);
        node.idle += passed.idle;
        node.softirq += passed.softirq;
        node.steal += passed.steal;
        node.total += passed.total;
        busiest = std::max(busiest, share(passed.softirq, passed.total));
    }
    if (node.total == 0) return Absent{"/proc/stat: no tick passed"};
    return NodeShares{share(node.idle, node.total), share(node.softirq, node.total),
                      share(node.steal, node.total), busiest};
}

// "key value" lines; 0 where there is no such key.
std::int64_t value_of(const std::filesystem::path& path, const std::string& wanted) {
    std::ifstream file(path);
    std::string key;
    for (std::int64_t value = 0; file >> key >> value;)
        if (key == wanted) return value;
    return 0;
}

// Version 2 has cpu.max ("MICROSECONDS PERIOD" or "max PERIOD") and microseconds in cpu.stat, version
// 1 two files (quota -1 without one) and nanoseconds: the kernel's cgroup-v2.rst, sched-bwc.rst.
Seen<Throttle> read_throttle(const std::filesystem::path& group) {
    std::error_code failed;
    if (!std::filesystem::exists(group / "cpu.stat", failed)) return Absent{"no cpu.stat in it"};
    Throttle read;
    double quota = 0.0;
    double period = 0.0;
    if (std::ifstream limit(group / "cpu.max"); limit >> quota >> period) {
        read.throttled_ns = 1000 * value_of(group / "cpu.stat", "throttled_usec");
    } else {
        std::ifstream(group / "cpu.cfs_quota_us") >> quota;
        std::ifstream(group / "cpu.cfs_period_us") >> period;
        read.throttled_ns = value_of(group / "cpu.stat", "throttled_time");
    }
    if (quota > 0.0 && period > 0.0) read.quota_processors = quota / period;
    return read;
}

// The folders in which a mount shows the groups of one line of /proc/self/cgroup ("0::/a/b",
// "4:cpu,cpuacct:/a/b").
std::vector<std::filesystem::path> hierarchies(const std::filesystem::path& mount,
                                               const std::string& controllers) {
    if (controllers.empty()) return {mount, mount / "unified"};
    return {mount / controllers, mount / "cpu"};
}

bool counts_processors(const std::string& controllers) {
    return controllers.empty() || ("," + controllers + ",").find(",cpu,") != std::string::npos;
}

void read_groups(Throttles& found, const std::filesystem::path& mount, std::istream& groups) {
    for (std::string line; std::getline(groups, line);) {
        const std::size_t first = line.find(':');
        const std::size_t last = line.find(':', first + 1);
        if (last == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, last - first - 1);
        if (!counts_processors(controllers)) continue;
        for (const std::filesystem::path& top : hierarchies(mount, controllers)) {
            std::filesystem::path group = top;
            const std::filesystem::path own = line.substr(last + 1);
            for (const std::filesystem::path& part : own.relative_path() / "") {
                const Seen<Throttle> read = read_throttle(group);
                if (read.known()) found[group.string()] = read.value();
                group /= part;
            }
        }
    }
}

// The group that held the process back longest; else that with the smallest quota.
Throttle throttled_between(const Throttles& before, const Throttles& after) {
    Throttle most;
    for (const auto& [group, last] : after) {
        const auto known = before.find(group);
        if (known == before.end()) continue;
        const std::int64_t held_ns = grown(known->second.throttled_ns, last.throttled_ns);
        const double quota = last.quota_processors;
        const bool tighter =
            quota > 0.0 && (most.quota_processors <= 0.0 || quota < most.quota_processors);
        if (held_ns > most.throttled_ns || (held_ns == most.throttled_ns && tighter))
            most = {quota, held_ns};
    }
    return most;
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

// The thread of a process's own number is its first: it is there as long as the process.
Seen<RunDelays> read_run_delays(const std::string& threads) {
    RunDelays waited{{0, ended_threads_ns}};
    std::string reason = threads + ": no threads in it";
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(threads, failed)) {
        const Seen<Schedstat> read = read_schedstat(entry.path() / "schedstat");
        if (read.known())
            waited[std::atoi(entry.path().filename().c_str())] = read.value().waiting_ns;
        else
            reason = read.absent().reason;
    }
    if (failed) return Absent{threads + ": " + failed.message()};
    // A thread that ended meanwhile is no gap, but a kernel that reports no thread is.
    if (waited.size() == 1) return Absent{reason};
    return waited;
}

void keep_run_delay_of_this_thread() {
    const Seen<Schedstat> read = read_schedstat("/proc/thread-self/schedstat");
    if (read.known()) ended_threads_ns += read.value().waiting_ns;
}

Seen<Throttles> read_throttles(const std::string& groups, const std::string& mount) {
    errno = 0;
    std::ifstream file(groups);
    if (!file) return cannot_read(groups);
    Throttles found;
    read_groups(found, mount, file);
    if (found.empty()) return Absent{mount + ": no control group of " + groups + " in it"};
    return found;
}

ProcessorState read_processors() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return {seconds(usage.ru_utime), seconds(usage.ru_stime), read_run_delays("/proc/self/task"),
            read_proc_stat("/proc/stat"),
            read_throttles("/proc/self/cgroup", "/sys/fs/cgroup")};
}

ProcessorUse use_between(const ProcessorState& before, const ProcessorState& after) {
    return {std::max(0.0, after.user_s - before.user_s),
            std::max(0.0, after.system_s - before.system_s),
            of_both(before.run_delays, after.run_delays, waited_between_s),
            node_between(before, after),
            of_both(before.throttles, after.throttles, throttled_between)};
}

void write_processor_use(JsonWriter& json, int rank, const ProcessorUse& use) {
    json.begin_object().member("rank", rank);
    json.member("user_s", use.user_s).member("system_s", use.system_s).key("run_delay_s");
    write_seen(json, use.run_delay_s);
    const auto write_share = [&](const char* name, double NodeShares::*part) {
        json.key(name);
        write_seen(json, use.node, [&](const NodeShares& node) { json.value(node.*part); });
    };
    write_share("node_idle_share", &NodeShares::idle);
    write_share("node_softirq_share", &NodeShares::softirq);
    write_share("node_steal_share", &NodeShares::steal);
    write_share("busiest_softirq_share", &NodeShares::busiest_softirq);
    json.key("throttled_s");
    write_seen(json, use.throttle, [&](const Throttle& throttle) {
        json.value(static_cast<double>(throttle.throttled_ns) * 1e-9);
    });
    json.key("quota_processors");
    write_seen(json, use.throttle, [&](const Throttle& throttle) {
        if (throttle.quota_processors > 0.0)
            json.value(throttle.quota_processors);
        else
            write_absent(json, Absent{"no quota of processor time"});
    });
    json.end_object();
}

}  // namespace fabricgauge
