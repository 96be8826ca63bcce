#include "fabricgauge/feasibility.hpp"

#include "check.hpp"

using namespace fabricgauge;

namespace {

Case between(int origin, int target) {
    return {"a", Pattern::latency, 8, 1, origin, target, 1.0};
}

bool mentions(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

int main() {
    check::test("two ranks that exist are enough", [] {
        check::expect_equal(missing_ranks(between(1, 0), 2), "");
    });
    check::test("a single rank, a missing rank and a rank with itself are told apart", [] {
        check::expect(mentions(missing_ranks(between(0, 1), 1), "needs 2 ranks"));
        check::expect(mentions(missing_ranks(between(0, 7), 3), "rank 7 does not exist"));
        check::expect(mentions(missing_ranks(between(1, 1), 3), "both rank 1"));
    });
    check::test("a case of many ranks needs as many as it names, and rounds that exist", [] {
        Case all = between(0, 0);
        all.pattern = Pattern::all_pairs_latency;
        check::expect_equal(missing_ranks(all, 3), "");
        all.rounds = {0, 3};
        check::expect(mentions(missing_ranks(all, 3), "round 3 does not exist, there are 3"));
        check::expect_equal(missing_ranks(all, 5), "");
        all.ranks = 8;
        check::expect(mentions(missing_ranks(all, 5), "is for 8 ranks"));
        all.ranks = 1;
        check::expect(mentions(missing_ranks(all, 5), "needs 2 ranks"));
    });
    check::test("half of the memory is shared by a node's ranks", [] {
        check::expect_equal(missing_memory(500, 1000, 1, "c1"), "");
        check::expect(mentions(missing_memory(501, 1000, 1, "c1"), "c1 has too little memory"));
        check::expect(!missing_memory(251, 1000, 2, "c1").empty());
    });
    return check::outcome();
}
