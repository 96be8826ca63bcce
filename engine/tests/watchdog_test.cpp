#include "fabricgauge/watchdog.hpp"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "check.hpp"

using namespace fabricgauge;

namespace {

constexpr int survived = 3;

// Exit status of a process of its own that does this and then sleeps for a second.
int status_of(const std::function<void(Watchdog&)>& action) {
    const pid_t child = fork();
    if (child == 0) {
        Watchdog watchdog;
        action(watchdog);
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
        std::this_thread::sleep_until(end);
        _exit(survived);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void stay_on(int processor) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof one, &one);
}

// Runs for longer than the watchdog is armed.
void spin(double seconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < end) {
    }
}

class File {
public:
    File() { close(mkstemp(path)); }
    ~File() { unlink(path); }
    std::string content() const {
        std::stringstream seen;
        seen << std::ifstream(path).rdbuf();
        return seen.str();
    }
    char path[32] = "/tmp/fabricgauge-last-XXXXXX";
};

}  // namespace

int main() {
    check::test("it ends the process with its status once the time is over", [] {
        check::expect_equal(status_of([](Watchdog& watchdog) {
                                watchdog.prepare({75, "", nullptr, ""});
                                watchdog.arm(0.01);
                            }),
                            75);
    });
    check::test("it does not when disarmed", [] {
        check::expect_equal(status_of([](Watchdog& watchdog) {
                                watchdog.prepare({75, "", nullptr, ""});
                                watchdog.arm(0.3);
                                watchdog.disarm();
                            }),
                            survived);
    });
    check::test("it can be armed again with a nearer deadline", [] {
        check::expect_equal(status_of([](Watchdog& watchdog) {
                                watchdog.prepare({75, "", nullptr, ""});
                                watchdog.arm(1000.0);
                                watchdog.arm(0.01);
                            }),
                            75);
    });
    check::test("the record is written whole, after the lines before it", [] {
        const File file;
        status_of([&](Watchdog& watchdog) {
            static Output output(file.path);
            output.line("one");
            watchdog.prepare({75, "", &output, "last\n"});
            watchdog.arm(0.01);
        });
        check::expect_equal(file.content(), "one\nlast\n");
    });
    check::test("a line that is being written gets to its end first", [] {
        // A pipe that is full holds the line up for a while.
        int ends[2];
        check::expect_equal(pipe(ends), 0);
        const std::string line(1 << 20, 'x');
        std::string read_back;
        std::thread reader([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            char part[4096];
            for (ssize_t count = 1; (count = read(ends[0], part, sizeof part)) > 0;)
                read_back.append(part, static_cast<std::size_t>(count));
        });
        const pid_t child = fork();
        if (child == 0) {
            dup2(ends[1], STDOUT_FILENO);
            Output output("");
            Watchdog watchdog;
            watchdog.prepare({75, "", &output, "last\n"});
            watchdog.arm(0.05);
            output.line(line);
            std::this_thread::sleep_for(std::chrono::seconds(5));
            _exit(survived);
        }
        close(ends[1]);
        int status = 0;
        waitpid(child, &status, 0);
        reader.join();
        check::expect_equal(WEXITSTATUS(status), 75);
        check::expect(read_back == line + "\nlast\n");
    });
    check::test("it tells a rank that has no processor from one that waits for the network", [] {
        for (const bool beside_load : {true, false}) {
            const File file;
            status_of([&](Watchdog& watchdog) {
                const int processor = sched_getcpu();
                pid_t others[3] = {};
                for (pid_t& other : others) {
                    other = beside_load ? fork() : -1;
                    if (other != 0) continue;
                    stay_on(processor);
                    spin(2.0);
                    _exit(0);
                }
                static Output output(file.path);
                watchdog.prepare({75, "", &output, "network\n", {"m", "host\n"}});
                watchdog.arm(0.5);
                if (!beside_load) return;  // and sleeps: it waits for no processor
                stay_on(processor);
                spin(2.0);
            });
            check::expect_equal(file.content(), std::string(beside_load ? "host\n" : "network\n"));
        }
    });
    check::test("it makes no thread", [] {
        const Watchdog watchdog;
        std::ifstream about("/proc/self/status");
        std::string threads;
        for (std::string line; std::getline(about, line);)
            if (line.rfind("Threads:", 0) == 0) threads = line;
        check::expect_equal(threads, "Threads:\t1");
    });
    return check::outcome();
}
