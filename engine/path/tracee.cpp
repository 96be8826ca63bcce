#include "tracee.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>

namespace fabricgauge::path {

namespace {

// What went wrong in the child before the program took its place.
struct StartFailure {
    int error = 0;
    bool tracing = false;
};

[[noreturn]] void become(const std::vector<std::string>& argv, int tell) {
    StartFailure failure;
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) {
        failure = {errno, true};
    } else {
        std::vector<char*> words;
        for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
        words.push_back(nullptr);
        execvp(words[0], words.data());
        failure = {errno, false};
    }
    (void)!::write(tell, &failure, sizeof failure);
    _exit(127);
}

// Enables the first debug register for execution; Intel SDM volume 3B, section 18.2.
constexpr std::size_t debug_register = offsetof(struct user, u_debugreg);
constexpr std::size_t debug_control = debug_register + 7 * sizeof(long);

}  // namespace

Tracee::Tracee(const std::vector<std::string>& argv) {
    int pipe_ends[2];
    if (pipe2(pipe_ends, O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe");
    pid_ = fork();
    if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (pid_ == 0) become(argv, pipe_ends[1]);
    close(pipe_ends[1]);
    StartFailure failure;
    const bool failed = ::read(pipe_ends[0], &failure, sizeof failure) == sizeof failure;
    close(pipe_ends[0]);
    int status = 0;
    waitpid(pid_, &status, 0);
    if (failed && failure.tracing)
        throw NotPermitted(std::string("the system does not let a program trace its own child: ") +
                           strerror(failure.error) +
                           "; a container needs --cap-add SYS_PTRACE or another seccomp profile,"
                           " and kernel.yama.ptrace_scope must be below 3");
    if (failed) throw std::system_error(failure.error, std::generic_category(), argv.front());
    if (!WIFSTOPPED(status)) throw Ended{WIFEXITED(status) ? WEXITSTATUS(status) : 128};
    ptrace(PTRACE_SETOPTIONS, pid_, nullptr, PTRACE_O_EXITKILL);
}

Tracee::~Tracee() {
    if (pid_ > 0) {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
}

void Tracee::run() { resume(PTRACE_CONT); }

void Tracee::step() { resume(PTRACE_SINGLESTEP); }

void Tracee::run_to(std::uint64_t address) {
    const bool armed = ptrace(PTRACE_POKEUSER, pid_, debug_register, address) == 0 &&
                       ptrace(PTRACE_POKEUSER, pid_, debug_control, 1) == 0;
    do
        resume(armed ? PTRACE_CONT : PTRACE_SINGLESTEP);
    while (registers().rip != address);
    if (armed) ptrace(PTRACE_POKEUSER, pid_, debug_control, 0);
}

// A trap is ours; every other signal goes on to the child, which then runs on.
void Tracee::resume(int request) {
    while (true) {
        if (ptrace(static_cast<__ptrace_request>(request), pid_, nullptr, pending_signal_) != 0 &&
            errno != ESRCH)
            throw std::system_error(errno, std::generic_category(), "ptrace");
        pending_signal_ = 0;
        int status = 0;
        while (waitpid(pid_, &status, __WALL) < 0)
            if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
        if (!WIFSTOPPED(status)) {
            pid_ = -1;
            throw Ended{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
        }
        if (WSTOPSIG(status) == SIGTRAP) return;
        pending_signal_ = WSTOPSIG(status);
        ++signals_;
    }
}

Registers Tracee::registers() const {
    Registers found{};
    if (ptrace(PTRACE_GETREGS, pid_, nullptr, &found) != 0)
        throw std::system_error(errno, std::generic_category(), "ptrace");
    return found;
}

std::size_t Tracee::read(std::uint64_t address, void* into, std::size_t bytes) const {
    iovec local{into, bytes};
    iovec remote{reinterpret_cast<void*>(address), bytes};
    const ssize_t got = process_vm_readv(pid_, &local, 1, &remote, 1, 0);
    return got < 0 ? 0 : static_cast<std::size_t>(got);
}

}  // namespace fabricgauge::path
