#include "fabricgauge/watchdog.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <system_error>
#include <utility>

#include "fabricgauge/waits.hpp"

namespace fabricgauge {

namespace {

// The handler's data; it may call only functions that signal-safety(7) lists.
LastWords words;
timer_t pending;
std::atomic<bool> armed = false;
std::atomic<int> patience = 0;
// When it was armed: what the main thread had waited for a processor, and for how long it was armed.
std::int64_t waited_before_ns = -1;
double armed_s = 0.0;

// A line that is being written when the time is over has this long to get to its end, if another is to
// follow.
constexpr int most_patience = 40;
constexpr double patience_s = 0.05;

// Not SIGALRM, which message layers use themselves.
int signal_number() { return SIGRTMIN + 7; }

itimerspec once_after(double seconds) {
    itimerspec setting{};
    const double whole_s = std::floor(seconds);
    setting.it_value.tv_sec = static_cast<time_t>(whole_s);
    setting.it_value.tv_nsec = static_cast<long>((seconds - whole_s) * 1e9);
    // All zeros would disarm.
    if (setting.it_value.tv_sec == 0 && setting.it_value.tv_nsec == 0) setting.it_value.tv_nsec = 1;
    return setting;
}

void say(const std::string& text) {
    if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

bool has_waited() {
    if (words.if_waiting.message.empty() || waited_before_ns < 0) return false;
    const std::int64_t waited_ns = waited_by_main_thread_ns() - waited_before_ns;
    return static_cast<double>(waited_ns) * 1e-9 >= longest_waiting_share * armed_s;
}

void expire(int) {
    if (!armed) return;
    if (words.output != nullptr && words.output->is_writing() && patience-- > 0) {
        const itimerspec soon = once_after(patience_s);
        timer_settime(pending, 0, &soon, nullptr);
        return;
    }
    const bool waited = has_waited();
    const std::string& record = waited ? words.if_waiting.record : words.record;
    if (words.output != nullptr && !words.output->is_writing() &&
        !words.output->write_now(record.data(), record.size()))
        say("fabricgauge-engine: the record of this could not be written\n");
    say(waited ? words.if_waiting.message : words.message);
    _exit(words.status);
}

[[noreturn]] void fail(const char* call) {
    throw std::system_error(errno, std::generic_category(), call);
}

}  // namespace

Watchdog::Watchdog() {
    struct sigaction action {};
    action.sa_handler = expire;
    action.sa_flags = SA_RESTART;
    if (sigaction(signal_number(), &action, nullptr) != 0) fail("sigaction");
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, signal_number());
    pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = signal_number();
    if (timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0) fail("timer_create");
    pending = timer_;
}

Watchdog::~Watchdog() {
    disarm();
    timer_delete(timer_);
}

void Watchdog::prepare(LastWords said) { words = std::move(said); }

void Watchdog::arm(double seconds) {
    patience = words.record.empty() ? 0 : most_patience;
    waited_before_ns = words.if_waiting.message.empty() ? -1 : waited_by_main_thread_ns();
    armed_s = seconds;
    armed = true;
    const itimerspec setting = once_after(seconds);
    timer_settime(timer_, 0, &setting, nullptr);
}

void Watchdog::disarm() {
    armed = false;
    const itimerspec never{};
    timer_settime(timer_, 0, &never, nullptr);
}

}  // namespace fabricgauge
