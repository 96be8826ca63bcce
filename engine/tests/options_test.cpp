#include "fabricgauge/options.hpp"

#include "check.hpp"

using namespace fabricgauge;

namespace {

void expect_refused(const std::vector<std::string>& arguments, const std::string& part,
                    int line = __builtin_LINE()) {
    check::expect_error<OptionsError>([&] { parse_options(arguments); }, part, __FILE__, line);
}

}  // namespace

int main() {
    check::test("defaults are those of the documentation", [] {
        const Options options = parse_options({});
        check::expect_near(options.stopping.relative_half_width, 0.01, 0.0);
        check::expect_near(options.stopping.confidence, 0.95, 0.0);
        check::expect_near(options.grace_s, 10.0, 0.0);
        check::expect(!options.check_data);
        check::expect(!options.thread_multiple);
        check::expect(options.buffers == PingPongBuffers::shared);
    });
    check::test("values follow an option or its equals sign", [] {
        const Options options = parse_options({"--half-width", "0.05", "--grace=3", "--check-data", "--separate-buffers",
                                               "--thread-multiple", "--pin", "10.0.0.0/8", "--interface-env", "A",
                                               "--interface-env=B"});
        check::expect_near(options.stopping.relative_half_width, 0.05, 0.0);
        check::expect_near(options.grace_s, 3.0, 0.0);
        check::expect(options.check_data);
        check::expect(options.buffers == PingPongBuffers::separate);
        check::expect(options.thread_multiple);
        check::expect_equal(options.pin.interface_variables.size(), std::size_t{2});
        check::expect_equal(options.pin.interface_variables.back(), "B");
    });
    check::test("what is not understood is refused by name", [] {
        expect_refused({"--fast"}, "--fast is not known");
        expect_refused({"--grace"}, "--grace needs a value");
        expect_refused({"--grace", "soon"}, "--grace: 'soon'");
        expect_refused({"--half-width", "1"}, "--half-width: '1'");
        expect_refused({"--confidence", "0"}, "--confidence: '0'");
        expect_refused({"--iterations", "0"}, "--iterations: '0'");
        expect_refused({"--interface-env", "A"}, "needs --pin");
        expect_refused({"--pin", "10.0.0.0/8", "--interface-env=A=B"}, "environment variable");
    });
    return check::outcome();
}
