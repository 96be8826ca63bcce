#include "fabricgauge/gathering.hpp"

#include <stdexcept>

#include "check.hpp"

using namespace fabricgauge;

namespace {

// Sum over all rounds of what members with such texts send; nothing is allocated for the texts.
std::int64_t sent(const GatherRounds& plan, const std::vector<std::int64_t>& lengths) {
    std::int64_t total = 0;
    for (std::int64_t round = 0; round < plan.rounds; ++round) {
        std::vector<int> counts;
        for (const std::int64_t length : lengths) counts.push_back(plan.count(length, round));
        const int in_round = offsets_of(counts).back();
        check::expect(in_round <= longest_gather_bytes);
        total += in_round;
    }
    return total;
}

}  // namespace

int main() {
    check::test("texts that fit go in one call", [] {
        const GatherRounds plan = gather_rounds(1000, 4);
        check::expect_equal(plan.rounds, 1);
        check::expect_equal(plan.count(1000, 0), 1000);
        check::expect_equal(plan.count(0, 0), 0);
    });
    check::test("no text needs no call", [] { check::expect_equal(gather_rounds(0, 4).rounds, 0); });
    check::test("texts whose sum is beyond an int arrive whole", [] {
        // 2,700 ranks with 800 kB each: 2.16e9 bytes, which an int does not hold.
        const std::vector<std::int64_t> lengths(2700, 800'000);
        check::expect_equal(sent(gather_rounds(800'000, 2700), lengths), 2700LL * 800'000);
    });
    check::test("a single text beyond an int arrives whole, beside short ones", [] {
        const std::int64_t long_bytes = (std::int64_t{1} << 32) + 17;
        const std::vector<std::int64_t> lengths{3, long_bytes, 0};
        check::expect_equal(sent(gather_rounds(long_bytes, 3), lengths), long_bytes + 3);
    });
    check::test("the parts of a text follow each other without a gap", [] {
        const GatherRounds plan = gather_rounds(1'000'003, 3, 300);
        std::int64_t next = 0;
        for (std::int64_t round = 0; round < plan.rounds; ++round) {
            check::expect_equal(plan.begin(1'000'003, round), next);
            next += plan.count(1'000'003, round);
        }
        check::expect_equal(next, 1'000'003);
    });
    check::test("a size that an int does not hold is refused, never cut", [] {
        check::expect_equal(checked_count(2147483647), 2147483647);
        check::expect_error<std::length_error>([] { checked_count(2147483648); }, "2147483648");
        check::expect_error<std::length_error>([] { checked_count(-1); }, "-1");
        check::expect_error<std::length_error>([] { offsets_of({2147483647, 1}); }, "2147483648");
    });
    check::test("more ranks than bytes are refused", [] {
        check::expect_error<std::length_error>([] { gather_rounds(1, 1000, 999); }, "1000 ranks");
    });
    return check::outcome();
}
