#include "fabricgauge/processors.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "check.hpp"

using namespace fabricgauge;

namespace {

ProcessorState state(const std::string& stat) {
    std::istringstream text(stat);
    ProcessorState made;
    made.processors = parse_proc_stat(text);
    return made;
}

// A directory like /proc/self/task.
class Threads {
public:
    ~Threads() { std::filesystem::remove_all(root_); }
    void tell(int thread, const std::string& schedstat) const {
        const std::filesystem::path own = root_ / std::to_string(thread);
        std::filesystem::create_directories(own);
        std::ofstream(own / "schedstat") << schedstat;
    }
    std::string path() const { return root_.string(); }

private:
    static std::filesystem::path made() {
        char name[] = "/tmp/fabricgauge-threads-XXXXXX";
        return mkdtemp(name);
    }
    std::filesystem::path root_ = made();
};

Seen<double> delay_between(const Seen<RunDelays>& before, const Seen<RunDelays>& after) {
    ProcessorState first, last;
    first.run_delays = before;
    last.run_delays = after;
    return use_between(first, last).run_delay_s;
}

}  // namespace

int main() {
    check::test("shares are those of the ticks that passed", [] {
        const ProcessorState before = state("cpu 9 9 9 9 9 9 9 9 0 0\ncpu0 10 0 0 100 0 0 0 0 0 0\n"
                                            "cpu1 10 0 0 100 0 0 0 0 0 0\nintr 5\n");
        const ProcessorState after = state("cpu 9 9 9 9 9 9 9 9 0 0\ncpu0 10 0 0 150 10 0 40 0 0 0\n"
                                           "cpu1 60 0 0 130 0 0 10 10 0 0\nintr 5\n");
        const ProcessorUse use = use_between(before, after);
        check::expect_near(use.node.value().idle, 90.0 / 200.0, 1e-12);
        check::expect_near(use.node.value().softirq, 50.0 / 200.0, 1e-12);
        check::expect_near(use.node.value().steal, 10.0 / 200.0, 1e-12);
        check::expect_near(use.node.value().busiest_softirq, 0.4, 1e-12);
    });
    check::test("no tick passed gives no shares", [] {
        const ProcessorState same = state("cpu0 1 2 3 4 5 6 7 8\n");
        check::expect_equal(use_between(same, same).node.absent().reason,
                            "/proc/stat: no tick passed");
    });
    check::test("a counter that went backwards counts as unchanged", [] {
        const ProcessorUse use =
            use_between(state("cpu0 0 0 0 10 9 0 0 0\n"), state("cpu0 9 0 0 10 8 0 0 0\n"));
        check::expect(use.node.value().idle >= 0.0 && use.node.value().idle <= 1.0);
    });
    check::test("this process's own use grows", [] {
        const ProcessorState before = read_processors();
        volatile double sink = 0.0;
        for (int i = 0; i < 20'000'000; ++i) sink = sink + 1.0;
        check::expect(use_between(before, read_processors()).user_s > 0.0);
        check::expect(!before.processors.value().empty());
    });
    check::test("every thread's waiting counts, also of those that began meanwhile", [] {
        const Threads threads;
        threads.tell(7, "9 2000000000 3");
        const Seen<RunDelays> before = read_run_delays(threads.path());
        threads.tell(7, "9 2500000000 3");
        threads.tell(8, "9 1000000000 3");
        check::expect_near(delay_between(before, read_run_delays(threads.path())).value(), 1.5, 1e-9);
    });
    check::test("a thread that ends keeps what it waited", [] {
        const ProcessorState before = read_processors();
        if (!before.run_delays.known()) return;
        const std::size_t threads = before.run_delays.value().size();
        std::thread([] { keep_run_delay_of_this_thread(); }).join();
        const ProcessorState after = read_processors();
        check::expect_equal(after.run_delays.value().size(), threads);
        check::expect(after.run_delays.value().at(0) >= before.run_delays.value().at(0));
    });
    check::test("waiting that cannot be seen is absent with its reason, not 0", [] {
        const Threads threads;
        threads.tell(7, "");
        const Seen<RunDelays> broken = read_run_delays(threads.path());
        check::expect(broken.absent().reason.find("7/schedstat: not three numbers") !=
                      std::string::npos);
        check::expect(!delay_between(broken, broken).known());
        threads.tell(7, "0 0 0");
        check::expect(read_run_delays(threads.path()).absent().reason.find("does not count") !=
                      std::string::npos);
        check::expect_equal(read_run_delays("/nonexistent").absent().reason,
                            "/nonexistent: No such file or directory");
    });
    check::test("a quota of version 2 and of version 1 is read, with what it held back", [] {
        const Threads mount;
        const std::filesystem::path root = mount.path();
        const auto write = [&](const std::string& file, const std::string& text) {
            std::filesystem::create_directories((root / file).parent_path());
            std::ofstream(root / file) << text;
        };
        const auto between = [&](const std::string& groups, const std::string& stat,
                                 const std::string& key, std::int64_t first, std::int64_t last) {
            write("groups", groups);
            ProcessorState before, after;
            write(stat, "nr_periods 9\n" + key + " " + std::to_string(first) + "\n");
            before.throttles = read_throttles(root / "groups", root);
            write(stat, "nr_periods 9\n" + key + " " + std::to_string(last) + "\n");
            after.throttles = read_throttles(root / "groups", root);
            return use_between(before, after).throttle;
        };
        write("job/cpu.max", "30000 100000\n");
        write("job/rank/cpu.max", "max 100000\n");
        write("job/rank/cpu.stat", "throttled_usec 0\n");
        const Throttle second = between("0::/job/rank\n", "job/cpu.stat", "throttled_usec", 5, 700'005)
                                    .value();
        check::expect_near(second.quota_processors, 0.3, 1e-12);
        check::expect_equal(second.throttled_ns, std::int64_t{700'000'000});
        write("cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n");
        write("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
        const Throttle first = between("9:name=systemd:/job\n4:cpu,cpuacct:/job\n",
                                       "cpu,cpuacct/job/cpu.stat", "throttled_time", 7, 9).value();
        check::expect_near(first.quota_processors, 1.5, 1e-12);
        check::expect_equal(first.throttled_ns, std::int64_t{2});
        check::expect(!between("3:memory:/job\n", "job/cpu.stat", "throttled_usec", 0, 0).known());
    });
    check::test("what is absent is written with its reason where the figure would be", [] {
        JsonWriter json;
        write_processor_use(json, 2, {1.0, 2.0, Absent{"why"}, Absent{"none"}});
        check::expect(json.text().find("\"run_delay_s\":{\"type\":\"skipped\",\"reason\":\"why\"}") !=
                      std::string::npos);
        check::expect(json.text().find("\"node_idle_share\":{\"type\":\"skipped\",\"reason\":\"none\"}") !=
                      std::string::npos);
    });
    return check::outcome();
}
