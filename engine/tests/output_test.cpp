#include "fabricgauge/output.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

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
        check::expect_error<std::system_error>([] { Output("/dev/full").line("one"); }, "/dev/full");
    });
    check::test("a file that cannot be opened is an error", [] {
        check::expect_error<std::system_error>([] { Output("/nonexistent/x"); }, "/nonexistent/x");
    });
    return check::outcome();
}
