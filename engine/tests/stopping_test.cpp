#include "fabricgauge/stopping.hpp"

#include <string>
#include <vector>

#include "check.hpp"

using namespace fabricgauge;

namespace {

std::vector<double> medians(int count, double first, double step) {
    std::vector<double> made;
    for (int i = 0; i < count; ++i) made.push_back(first + step * (i % 5));
    return made;
}

// The numbers of the blocks after which the rule looks.
std::vector<int> looks(int blocks, double measured_s) {
    IntervalRule rule(0.01, 0.95);
    std::vector<int> found;
    for (int block = 1; block <= blocks; ++block)
        if (rule.due(measured_s)) found.push_back(block);
    return found;
}

}  // namespace

int main() {
    check::test("a narrow interval is enough", [] {
        check::expect(IntervalRule(0.01, 0.95).narrow(medians(20, 100.0, 0.1)));
    });
    check::test("a wide interval is not, nor is one of few blocks, nor none", [] {
        const IntervalRule rule(0.01, 0.95);
        check::expect(!rule.narrow(medians(20, 100.0, 20.0)));
        check::expect(!rule.narrow(medians(5, 100.0, 0.0)));
        check::expect(!rule.narrow({}));
    });
    check::test("it first looks after six blocks, then after a fifth more each time", [] {
        const std::vector<int> found = looks(24, 1.0);
        check::expect(found == std::vector<int>{6, 7, 8, 9, 10, 12, 14, 16, 19, 22});
    });
    check::test("less than 20 ms are never enough", [] {
        check::expect(looks(20, 0.019).empty());
    });
    check::test("the budget counts the next block", [] {
        check::expect(!BudgetRule(1.0).reached(0.5, 0.4));
        check::expect(BudgetRule(1.0).reached(0.5, 0.6));
    });
    check::test("iterations end exactly, and 0 means no limit", [] {
        check::expect(!IterationsRule(0).reached(1'000'000));
        check::expect_equal(IterationsRule(0).clip(50, 1000), 50);
        check::expect_equal(IterationsRule(100).clip(64, 60), 40);
        check::expect(IterationsRule(100).reached(100));
    });
    check::test("names are those of the format", [] {
        check::expect_equal(std::string(name_of(Stop::interval)), "interval");
        check::expect_equal(std::string(name_of(Stop::none)), "");
    });
    return check::outcome();
}
