#include "fabricgauge/waits.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>

namespace fabricgauge {

Waits waits_of_this_thread() {
    std::int64_t running_ns = 0;
    Waits waits;
    std::ifstream("/proc/thread-self/schedstat") >> running_ns >> waits.waited_ns >> waits.turns;
    return waits;
}

std::int64_t waited_by_main_thread_ns() noexcept {
    const int file = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    char text[96];
    const ssize_t length = read(file, text, sizeof text);
    close(file);
    // The second of three numbers.
    ssize_t at = 0;
    while (at < length && text[at] != ' ') ++at;
    std::int64_t waited_ns = at + 1 < length ? 0 : -1;
    for (++at; at < length && text[at] >= '0' && text[at] <= '9'; ++at)
        waited_ns = 10 * waited_ns + (text[at] - '0');
    return waited_ns;
}

void leave_processor() noexcept {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    cpu_set_t others = allowed;
    CPU_CLR(static_cast<std::size_t>(std::max(0, sched_getcpu())), &others);
    // Only the moment of the move is restricted: no processor is left out afterwards.
    if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0)
        sched_setaffinity(0, sizeof allowed, &allowed);
}

bool waits_made_median(const Waits& waits, std::int64_t samples, double measured_s) noexcept {
    return 2 * waits.turns >= samples &&
           static_cast<double>(waits.waited_ns) * 1e-9 >= longest_waiting_share * measured_s;
}

}  // namespace fabricgauge
