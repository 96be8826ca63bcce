// fabricgauge-path [--pin SUBNET] [--interface-env NAME]... [--rank R] [--limit S] [--most STEPS]
//                  -- PROGRAM [WORD]...
//
// Takes the place of a rank's program. It starts that program; of rank R (0) it steps through the
// calls that the program marks (mark.hpp) and prints a line of JSON for each, then the footer.
// No root, no counters, no change of the program or its libraries: ptrace of its own child.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "fabricgauge/exit_status.hpp"
#include "fabricgauge/json.hpp"
#include "fabricgauge/number.hpp"
#include "fabricgauge/pin.hpp"
#include "tracer.hpp"

namespace {

using namespace fabricgauge;
using namespace fabricgauge::path;

constexpr char format_version[] = "1.0";
constexpr int exit_not_permitted = 77;  // EX_NOPERM

struct Words {
    PinOptions pin;
    std::string rank = "0";
    std::int64_t limit_s = 60;
    std::int64_t most_steps = 300000;
    std::vector<std::string> program;
};

std::int64_t number(const std::string& text) {
    const auto found = whole_number(text);
    if (!found || *found < 1) throw OptionsError("'" + text + "' is no whole number above 0");
    return *found;
}

Words words_of(const std::vector<std::string>& said) {
    Words words;
    for (std::size_t i = 0; i < said.size(); i += 2) {
        if (said[i] == "--") {
            words.program.assign(said.begin() + static_cast<std::ptrdiff_t>(i) + 1, said.end());
            break;
        }
        if (i + 1 == said.size()) throw OptionsError(said[i] + " needs a value");
        const std::string& value = said[i + 1];
        if (said[i] == "--pin") words.pin.subnet = value;
        else if (said[i] == "--interface-env") words.pin.interface_variables.push_back(value);
        else if (said[i] == "--rank") words.rank = value;
        else if (said[i] == "--limit") words.limit_s = number(value);
        else if (said[i] == "--most") words.most_steps = number(value);
        else throw OptionsError("unknown option " + said[i]);
    }
    if (words.program.empty()) throw OptionsError("no program to trace was named");
    return words;
}

// Variables of MPICH and Intel MPI, Open MPI, PMIx, Slurm.
std::string own_rank() {
    for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"})
        if (const char* value = std::getenv(name)) return value;
    return "0";
}

void print(const std::string& line) {
    if (std::printf("%s\n", line.c_str()) < 0 || std::fflush(stdout) != 0) _exit(exit_output);
}

int failed(int status, const std::string& text) {
    std::fprintf(stderr, "fabricgauge-path: %s\n", text.c_str());
    return status;
}

// The program is killed with this process; what was told is out.
void at_limit(int) {
    constexpr char text[] = "fabricgauge-path: the time limit has passed, the program is ended\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(exit_timeout);
}

int traced(const Words& words) {
    setenv(traced_variable, "1", 1);
    signal(SIGALRM, at_limit);
    alarm(static_cast<unsigned>(words.limit_s));
    Tracee tracee(words.program);
    JsonWriter json;
    json.begin_object().member("record", "path_header").member("format", format_version);
    print(json.member("program", words.program.front()).end_object().text());
    try {
        Tracer(tracee, words.most_steps, print).run();
        print(R"({"record":"footer"})");
        while (true) tracee.run();
    } catch (const Ended& ended) {
        return ended.status;
    }
}

int become(const std::vector<std::string>& program) {
    std::vector<char*> argv;
    for (const std::string& word : program) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    return failed(127, program.front() + ": " + std::strerror(errno));
}

}  // namespace

int main(int argc, char** argv) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // no launcher that is killed leaves this behind
    try {
        const Words words = words_of({argv + 1, argv + argc});
        pin(words.pin);
        return own_rank() == words.rank ? traced(words) : become(words.program);
    } catch (const OptionsError& error) {
        return failed(exit_options, error.what());
    } catch (const PinError& error) {
        return failed(exit_no_interface, error.what());
    } catch (const NotPermitted& error) {
        return failed(exit_not_permitted, error.what());
    } catch (const std::exception& error) {
        return failed(exit_system, error.what());
    }
}
