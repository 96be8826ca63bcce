#include "fabricgauge/warmup.hpp"

#include "check.hpp"

using namespace fabricgauge;

int main() {
    check::test("slow leading blocks are warm-up", [] {
        check::expect_equal(leading_warmup({300, 150, 101, 100, 100.5, 99.5, 100, 100}),
                            std::size_t{2});
    });
    check::test("fast leading blocks are warm-up as well", [] {
        check::expect_equal(leading_warmup({50, 100, 101, 100, 100.5, 99.5, 100, 100}),
                            std::size_t{1});
    });
    check::test("a level series has none", [] {
        check::expect_equal(leading_warmup({100, 101, 99, 100, 100.5, 99.5, 100, 101}),
                            std::size_t{0});
    });
    check::test("a slow block in the middle is not warm-up", [] {
        check::expect_equal(leading_warmup({100, 101, 300, 100, 100.5, 99.5, 100, 101}),
                            std::size_t{0});
    });
    check::test("a series that falls all the time has not settled", [] {
        const std::size_t leading = leading_warmup({800, 700, 600, 500, 400, 399, 398, 397});
        check::expect_equal(leading, std::size_t{4});
        check::expect(!has_settled(leading, 8));
    });
    check::test("few blocks say nothing", [] {
        check::expect_equal(leading_warmup({300, 100, 100, 100, 100}), std::size_t{0});
        check::expect_equal(leading_warmup({}), std::size_t{0});
    });
    return check::outcome();
}
