#include "fabricgauge/placement.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

namespace fabricgauge {

namespace {

std::string host_name() {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return name;
}

std::string target_of_link(const char* link) {
    char target[256];
    const ssize_t length = readlink(link, target, sizeof target);
    return length > 0 ? std::string(target, static_cast<std::size_t>(length)) : "";
}

// The kernel refuses a set smaller than its own, which may be wider than the C library's default.
std::vector<int> allowed_processors() {
    for (int size = 1024; size <= (1 << 20); size *= 2) {
        cpu_set_t* const set = CPU_ALLOC(size);
        const std::size_t bytes = CPU_ALLOC_SIZE(size);
        std::vector<int> allowed;
        const bool known = sched_getaffinity(0, bytes, set) == 0;
        const bool too_small = !known && errno == EINVAL;
        for (int i = 0; known && i < size; ++i)
            if (CPU_ISSET_S(i, bytes, set)) allowed.push_back(i);
        CPU_FREE(set);
        if (!too_small) return allowed;
    }
    return {};
}

}  // namespace

std::string list_of(const std::vector<int>& processors) {
    std::string list;
    for (std::size_t first = 0; first < processors.size();) {
        std::size_t last = first;
        while (last + 1 < processors.size() && processors[last + 1] == processors[last] + 1) ++last;
        if (!list.empty()) list += ',';
        list += std::to_string(processors[first]);
        if (last > first) list += '-' + std::to_string(processors[last]);
        first = last + 1;
    }
    return list;
}

Placement find_placement() {
    Placement found;
    found.host = host_name();
    found.pid = static_cast<int>(getpid());
    std::ifstream("/proc/sys/kernel/random/boot_id") >> found.boot_id;
    found.net_namespace = target_of_link("/proc/self/ns/net");
    found.cpus_allowed = list_of(allowed_processors());
    unsigned cpu = 0;
    unsigned node = 0;
    if (syscall(SYS_getcpu, &cpu, &node, nullptr) == 0) {
        found.cpu = std::int64_t{cpu};
        found.numa_node = std::int64_t{node};
    } else {
        found.cpu = found.numa_node = cannot_read("getcpu");
    }
    return found;
}

void write_placement(JsonWriter& json, int rank, const Placement& placement,
                     const std::string& interface, const std::string& copies) {
    json.begin_object().member("record", "placement").member("rank", rank);
    json.member("host", placement.host).member("pid", placement.pid);
    json.member("boot_id", placement.boot_id).member("net_namespace", placement.net_namespace);
    json.member("cpus_allowed", placement.cpus_allowed);
    write_seen(json.key("cpu"), placement.cpu);
    write_seen(json.key("numa_node"), placement.numa_node);
    json.member("interface", interface);
    if (!copies.empty()) json.key("copies").raw(copies);
    json.end_object();
}

}  // namespace fabricgauge
