#include "fabricgauge/synchronised_clock.hpp"

#include <array>
#include <atomic>
#include <cmath>
#include <numeric>

#include "check.hpp"
#include "virtual_ranks.hpp"

using namespace fabricgauge;
using virtual_ranks::Cluster;
using virtual_ranks::Rank;
using Clock = SynchronisedClock<Rank, virtual_ranks::Clock>;

namespace {

Communicator communicator_of(const Rank& rank, int per_node) {
    std::vector<int> nodes;
    for (int other = 0; other < rank.ranks(); ++other) nodes.push_back(other / per_node);
    return {rank.rank(), rank.ranks(), nodes};
}

Cluster drifting(int ranks, int per_node = 1) {
    Cluster cluster(ranks);
    cluster.offset_ns = [per_node](int rank) { return 1e12 * (rank / per_node % 5) - 3e11; };
    cluster.rate = [per_node](int rank) { return 1e-5 * (rank / per_node % 7) - 2e-5; };
    return cluster;
}

// Every second message is held up, another one each way.
double disturbed(int from, int to, std::int64_t, std::int64_t number) {
    return 1000.0 + static_cast<double>((number * 7919 + from * 31 + to) % 4 * 2500);
}

// Calls `action(rank, clock)` on every rank when the clock has been renewed once.
template <typename Action>
void with_renewed(Cluster& cluster, Action&& action) {
    virtual_ranks::as_every_rank(cluster, [&](Rank& rank) {
        const virtual_ranks::Clock clock{rank};
        const Communicator communicator = communicator_of(rank, 1);
        Clock common(rank, clock);
        common.begin(communicator);
        common.renew();
        action(rank, common);
    });
}

// The worst reading of the common clock against rank 0's, `later_ns` after the last of `renewals`,
// which are 50 ms apart.
double worst_error_ns(Cluster& cluster, int per_node, int renewals, double later_ns) {
    std::vector<double> wrong(static_cast<std::size_t>(cluster.ranks));
    virtual_ranks::as_every_rank(cluster, [&](Rank& rank) {
        const virtual_ranks::Clock clock{rank};
        const Communicator communicator = communicator_of(rank, per_node);
        Clock common(rank, clock);
        common.begin(communicator);
        for (int i = 0; i < renewals; ++i) {
            rank.wait_true_ns(5e7 * (i + 1));
            common.renew();
        }
        rank.wait_true_ns(5e7 * renewals + 1e7 + later_ns);
        const double first = rank.true_ns() * (1.0 + cluster.rate(0)) + cluster.offset_ns(0);
        wrong[static_cast<std::size_t>(rank.rank())] =
            std::fabs(static_cast<double>(common.to_common(std::llround(rank.own_ns()))) - first);
    });
    return *std::max_element(wrong.begin(), wrong.end());
}

}  // namespace

int main() {
    check::test("every rank reads rank 0's clock, whatever their number", [] {
        for (const int ranks : {2, 3, 4, 7, 8, 13}) {
            Cluster cluster = drifting(ranks);
            check::expect(worst_error_ns(cluster, 1, 6, 0.0) < 60.0);
        }
    });
    check::test("disturbed messages change little", [] {
        Cluster cluster = drifting(5);
        cluster.way_ns = disturbed;
        check::expect(worst_error_ns(cluster, 1, 8, 0.0) < 200.0);
    });
    check::test("clocks' rates are learnt from renewal to renewal", [] {
        Cluster once = drifting(4);
        Cluster often = drifting(4);
        check::expect(worst_error_ns(once, 1, 1, 1e9) > 5000.0);
        check::expect(worst_error_ns(often, 1, 12, 1e9) < 300.0);
    });
    check::test("where answers take as long as TCP's timer, four of them will do", [] {
        Cluster cluster = drifting(2);
        cluster.way_ns = [](int, int, std::int64_t, std::int64_t) { return 1e8; };
        double took_ns = 0;
        with_renewed(cluster, [&](Rank& rank, Clock&) {
            if (rank.rank() == 0) took_ns = rank.true_ns();
        });
        check::expect(took_ns > 8 * 1e8 && took_ns < 12 * 1e8);
    });
    check::test("ranks of a node share what their lowest has learnt", [] {
        Cluster cluster = drifting(9, 3);
        check::expect(worst_error_ns(cluster, 3, 6, 0.0) < 60.0);
    });
    check::test("a way that is longer than back shifts the clock by half of the difference", [] {
        Cluster cluster(2);
        cluster.way_ns = [](int from, int, std::int64_t, std::int64_t) {
            return from == 0 ? 3000.0 : 1000.0;
        };
        const double error = worst_error_ns(cluster, 1, 3, 0.0);
        check::expect_near(error, 1000.0, 60.0);
    });
    check::test("a check finds a clock that has drifted, and a good one good", [] {
        Cluster cluster = drifting(4);
        std::array<double, 2> found{};
        with_renewed(cluster, [&](Rank& rank, Clock& common) {
            const double fresh_s = common.disagreement_s();
            rank.wait_true_ns(1e9);
            const double old_s = common.disagreement_s();
            if (rank.rank() == 3) found = {fresh_s, old_s};
        });
        check::expect(found[0] < 100e-9);
        check::expect(found[1] > 8e-6 && found[1] < 40e-6);
    });
    check::test("a clock is renewed soon while its rate is unknown, later when it is known", [] {
        Cluster cluster = drifting(2);
        std::array<bool, 3> due{};
        with_renewed(cluster, [&](Rank& rank, Clock& common) {
            const bool at_once = common.is_due();
            rank.wait_true_ns(rank.true_ns() + 5e6);
            const bool soon = common.is_due();
            for (int i = 1; i <= 10; ++i) {
                rank.wait_true_ns(1e8 * i);
                common.renew();
            }
            rank.wait_true_ns(rank.true_ns() + 5e6);
            if (rank.rank() == 0) due = {at_once, soon, common.is_due()};
        });
        check::expect(!due[0] && due[1] && !due[2]);
    });
    check::test("a tree has each place once, and parents before children", [] {
        for (int place = 1; place < 100; ++place) check::expect(parent_in_tree(place) < place);
        check::expect_equal(parent_in_tree(1), 0);
        check::expect_equal(parent_in_tree(6), 2);
        check::expect_equal(parent_in_tree(8), 0);
    });
    check::test("the lowest ranks of the nodes are found in any order", [] {
        const Communicator communicator{0, 6, {0, 1, 0, 2, 1, 2, 3}};
        const std::vector<int> found = lowest_ranks_of_nodes(communicator);
        check::expect(found == std::vector<int>{0, 1, 3});
    });
    return check::outcome();
}
