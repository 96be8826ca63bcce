#include "summary.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "fabricgauge/json.hpp"

namespace fabricgauge::path {

namespace {

constexpr std::uint64_t line_bytes = 64, page_bytes = 4096;

enum Use : unsigned { by_code = 1, by_load = 2, by_store = 4 };
using Uses = std::map<std::uint64_t, unsigned>;  // lines, or pages, with how they were used

const std::map<std::uint64_t, const char*> system_calls{
    {SYS_read, "read"}, {SYS_write, "write"}, {SYS_readv, "readv"}, {SYS_writev, "writev"},
    {SYS_recvfrom, "recvfrom"}, {SYS_recvmsg, "recvmsg"}, {SYS_recvmmsg, "recvmmsg"},
    {SYS_sendto, "sendto"}, {SYS_sendmsg, "sendmsg"}, {SYS_sendmmsg, "sendmmsg"},
    {SYS_poll, "poll"}, {SYS_ppoll, "ppoll"}, {SYS_select, "select"}, {SYS_pselect6, "pselect6"},
    {SYS_epoll_wait, "epoll_wait"}, {SYS_epoll_pwait, "epoll_pwait"}, {SYS_epoll_ctl, "epoll_ctl"},
    {SYS_futex, "futex"}, {SYS_sched_yield, "sched_yield"}, {SYS_ioctl, "ioctl"},
    {SYS_mmap, "mmap"}, {SYS_munmap, "munmap"}, {SYS_mprotect, "mprotect"},
    {SYS_madvise, "madvise"}, {SYS_brk, "brk"}, {SYS_clock_gettime, "clock_gettime"},
    {SYS_nanosleep, "nanosleep"}, {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_process_vm_readv, "process_vm_readv"}, {SYS_process_vm_writev, "process_vm_writev"},
    {SYS_socket, "socket"}, {SYS_connect, "connect"}, {SYS_accept, "accept"},
    {SYS_accept4, "accept4"}, {SYS_setsockopt, "setsockopt"}, {SYS_getsockopt, "getsockopt"},
    {SYS_openat, "openat"}, {SYS_close, "close"}, {SYS_fcntl, "fcntl"}, {SYS_fstat, "fstat"},
    {SYS_getpid, "getpid"}, {SYS_gettid, "gettid"}, {SYS_gettimeofday, "gettimeofday"},
};

std::string name_of(std::uint64_t number) {
    const auto known = system_calls.find(number);
    return known != system_calls.end() ? known->second : "system call " + std::to_string(number);
}

void use(Uses& uses, std::uint64_t address, std::uint64_t bytes, std::uint64_t unit, unsigned how) {
    for (std::uint64_t at = address / unit; at <= (address + bytes - 1) / unit; ++at)
        uses[at] |= how;
}

// What one function, one object or the whole call has done.
struct Sums {
    std::int64_t instructions = 0;
    Uses lines;
};

struct Totals {
    Sums all;
    Uses pages;
    std::int64_t calls = 0, branches = 0, locked = 0;
    std::vector<std::pair<std::size_t, std::int64_t>> segments;  // function, instructions
    std::map<std::size_t, Sums> functions;
    std::map<std::string, Sums> objects;
    std::map<std::string, std::int64_t> system_calls;
};

Totals totals_of(const Recording& recording, const Symbols& symbols) {
    Totals totals;
    const std::vector<Step>& steps = recording.steps();
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const Instruction& one = *steps[i].instruction;
        if (totals.segments.empty() || totals.segments.back().first != one.function)
            totals.segments.emplace_back(one.function, 0);
        ++totals.segments.back().second;
        totals.calls += one.call;
        totals.branches += one.branch;
        totals.locked += one.locked;
        if (one.syscall) ++totals.system_calls[name_of(steps[i].system_call)];
        use(totals.pages, one.address, one.length, page_bytes, by_code);
        Sums* const summed[] = {&totals.all, &totals.functions[one.function],
                                &totals.objects[symbols.function(one.function).object]};
        for (Sums* sums : summed) {
            ++sums->instructions;
            use(sums->lines, one.address, one.length, line_bytes, by_code);
        }
        for (std::size_t k = steps[i].accesses_begin; k < recording.accesses_end(i); ++k) {
            const Access& access = recording.accesses()[k];
            const unsigned how = access.store ? by_store : by_load;
            use(totals.pages, access.address, access.bytes, page_bytes, how);
            for (Sums* sums : summed)
                use(sums->lines, access.address, access.bytes, line_bytes, how);
        }
    }
    return totals;
}

// Each line counts once, under all that used it.
void write_uses(JsonWriter& json, const char* name, const Uses& uses) {
    static const std::pair<const char*, unsigned> kinds[] = {
        {"load", by_load},
        {"store", by_store},
        {"load_store", by_load | by_store},
        {"code", by_code},
        {"code_load", by_code | by_load},
        {"code_store", by_code | by_store},
        {"code_load_store", by_code | by_load | by_store},
    };
    json.key(name).begin_object();
    for (const auto& [kind, how] : kinds)
        json.member(kind, std::int64_t{std::count_if(uses.begin(), uses.end(), [how = how](
                                           const auto& one) { return one.second == how; })});
    json.end_object();
}

void write_sums(JsonWriter& json, const Sums& sums) {
    json.member("instructions", sums.instructions);
    json.member("lines", static_cast<std::int64_t>(sums.lines.size()));
}

}  // namespace

std::string Summary::of(const Recording& recording, const Circumstances& about) {
    const Totals totals = totals_of(recording, symbols_);
    JsonWriter json;
    json.begin_object().member("record", "traced_call").member("operation", about.mark.operation);
    json.member("message_bytes", about.mark.message_bytes).member("number", about.mark.number);
    json.member("instructions", totals.all.instructions).member("polled", recording.polled());
    json.member("poll_rounds", recording.rounds());
    json.member("cut", about.cut).member("signals", about.signals);
    json.member("calls", totals.calls).member("branches", totals.branches);
    json.member("locked", totals.locked);
    write_uses(json, "lines", totals.all.lines);
    std::int64_t new_lines = 0;
    std::set<std::uint64_t> lines;
    for (const auto& [line, how] : totals.all.lines) {
        lines.insert(line);
        new_lines += previous_.count(line) == 0;
    }
    previous_ = std::move(lines);
    json.member("new_lines", new_lines);
    write_uses(json, "pages", totals.pages);
    json.key("system_calls").begin_object();
    for (const auto& [name, count] : totals.system_calls) json.member(name, count);
    json.end_object().key("objects").begin_array();
    for (const auto& [name, sums] : totals.objects) {
        json.begin_object().member("object", name);
        write_sums(json, sums);
        json.end_object();
    }
    json.end_array().key("functions").begin_array();
    std::map<std::size_t, std::int64_t> places;
    for (const auto& [number, sums] : totals.functions) {
        places.emplace(number, static_cast<std::int64_t>(places.size()));
        const Function& function = symbols_.function(number);
        json.begin_object().member("object", function.object).member("function", function.name);
        write_sums(json, sums);
        json.end_object();
    }
    json.end_array().key("segments").begin_array();
    for (const auto& [number, count] : totals.segments)
        json.begin_array().value(places.at(number)).value(count).end_array();
    return json.end_array().end_object().text();
}

}  // namespace fabricgauge::path
