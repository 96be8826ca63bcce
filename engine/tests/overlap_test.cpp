#include "fabricgauge/overlap.hpp"

#include "check.hpp"

using namespace fabricgauge;

namespace {

// Of an operation of 10 µs beside 10 µs of computing that take `total_us` together.
double overlap_of(double total_us) {
    Overlap overlap(10e-6);
    overlap.add(total_us * 1e6, 10'000);
    return overlap.share().value_or(-1.0);
}

}  // namespace

int main() {
    check::test("all is hidden when both together take as long as the computing", [] {
        check::expect_near(overlap_of(10.0), 1.0, 1e-9);
    });
    check::test("nothing is hidden when both follow each other", [] {
        check::expect_near(overlap_of(20.0), 0.0, 1e-9);
    });
    check::test("half is half", [] { check::expect_near(overlap_of(15.0), 0.5, 1e-9); });
    check::test("the share stays between 0 and 1", [] {
        check::expect_near(overlap_of(9.0), 1.0, 1e-9);
        check::expect_near(overlap_of(35.0), 0.0, 1e-9);
    });
    check::test("blocks without a time in them say nothing of the total", [] {
        Overlap overlap(10e-6);
        overlap.add(std::nullopt, 10'000);
        check::expect(!overlap.share());
        check::expect_near(overlap.computing_s(), 10e-6, 1e-12);
    });
    check::test("one disturbed block of many changes nothing", [] {
        Overlap overlap(10e-6);
        for (int i = 0; i < 9; ++i) overlap.add(12e6, 10'000);
        overlap.add(500e6, 90'000);
        check::expect_near(overlap.share().value_or(-1.0), 0.8, 1e-9);
    });
    return check::outcome();
}
