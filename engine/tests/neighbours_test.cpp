#include "fabricgauge/neighbours.hpp"

#include "check.hpp"

using namespace fabricgauge;

int main() {
    check::test("the first rank of each node is its lowest", [] {
        const std::vector<std::string> keys = {"a", "b", "a", "b", "c"};
        check::expect(neighbours_of(keys, 0).lowest);
        check::expect(neighbours_of(keys, 1).lowest);
        check::expect(!neighbours_of(keys, 2).lowest);
        check::expect(neighbours_of(keys, 4).lowest);
        check::expect_equal(neighbours_of(keys, 3).on_node, 2);
        check::expect_equal(neighbours_of(keys, 4).on_node, 1);
    });
    check::test("ranks of a node have one number", [] {
        check::expect(nodes_of({"b", "a", "b", "c"}) == std::vector<int>({0, 1, 0, 2}));
    });
    check::test("ranks outnumber the processors of the machine that their nodes share", [] {
        const std::vector<RankProcessors> lab(4, {"boot-1", "0-1"});
        check::expect(!outnumber_processors(lab, 2));
        check::expect(outnumber_processors(lab, 3));
        check::expect(!outnumber_processors({{"boot-1", "0-1"}, {"boot-2", "0-1"}, {"boot-1", "0-1"}}, 3));
        check::expect(outnumber_processors({{"boot-1", "3"}, {"boot-1", "3"}}, 2));
        check::expect(!outnumber_processors({{"boot-1", "0,8"}, {"boot-1", "1,9"}, {"boot-1", "0,8"}}, 3));
        check::expect(!outnumber_processors({{"", ""}, {"", ""}, {"boot-1", ""}}, 3));
    });
    return check::outcome();
}
