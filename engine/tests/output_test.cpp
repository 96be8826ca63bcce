#include "fabricgauge/output.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "check.hpp"

using namespace fabricgauge;

int main() {
    check::test("each line is in the file as soon as it was written", [] {
        char path[] = "/tmp/fabricgauge-output-XXXXXX";
        close(mkstemp(path));
        Output output(path);
        output.line("one");
        std::stringstream seen;
        seen << std::ifstream(path).rdbuf();
        check::expect_equal(seen.str(), "one\n");
        unlink(path);
    });
    check::test("a full disk is an error that names the file", [] {
        check::expect_error<OutputError>([] { Output("/dev/full").line("one"); }, "/dev/full");
    });
    check::test("a file that cannot be opened is an error", [] {
        check::expect_error<OutputError>([] { Output("/nonexistent/x"); }, "/nonexistent/x");
    });
    check::test("a line that a full file took but in part is taken away again", [] {
        char path[] = "/tmp/fabricgauge-output-XXXXXX";
        close(mkstemp(path));
        const pid_t child = fork();
        if (child == 0) {
            signal(SIGXFSZ, SIG_IGN);
            const rlimit limit{1000, 1000};
            setrlimit(RLIMIT_FSIZE, &limit);
            Output output(path);
            output.line("one");
            try {
                output.line(std::string(2000, 'x'));
            } catch (const OutputError&) {
                _exit(7);
            }
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        check::expect_equal(WEXITSTATUS(status), 7);
        std::stringstream seen;
        seen << std::ifstream(path).rdbuf();
        check::expect_equal(seen.str(), "one\n");
        unlink(path);
    });
    return check::outcome();
}
