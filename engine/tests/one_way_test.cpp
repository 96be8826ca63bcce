#include "fabricgauge/one_way.hpp"

#include <array>

#include "check.hpp"
#include "virtual_ranks.hpp"

using namespace fabricgauge;
using virtual_ranks::Cluster;
using virtual_ranks::Rank;
using Common = SynchronisedClock<Rank, virtual_ranks::Clock>;

namespace {

constexpr std::int64_t message_bytes = 4096;

// What rank 1 finds out about its way to rank 2 of three ranks with clocks of their own.
double found_ns(Cluster& cluster) {
    cluster.offset_ns = [](int rank) { return 1e10 * (3 - rank); };
    double found = 0.0;
    virtual_ranks::as_every_rank(cluster, [&](Rank& rank) {
        const virtual_ranks::Clock clock{rank};
        const Communicator communicator{rank.rank(), 3, {0, 1, 2}};
        Common common(rank, clock);
        common.begin(communicator);
        common.renew();
        common.renew();
        std::array<std::byte, message_bytes> out{}, in{};
        const Slots slots{out.data(), in.data(), in.data(), 0, 0};
        OneWay<Rank, virtual_ranks::Clock> one_way(rank, clock, common, slots, message_bytes);
        if (rank.rank() == 1) found = static_cast<double>(one_way.as_origin(2, 9)) * 1e-3;
        if (rank.rank() == 2) one_way.as_target(1);
        const std::int64_t sent = rank.rank() == 0 ? 0 : 9 * message_bytes;
        check::expect(one_way.take_sent_bytes() >= sent);
        check::expect_equal(one_way.take_sent_bytes(), 0);
    });
    return found;
}

}  // namespace

int main() {
    check::test("ways that are alike differ by nothing", [] {
        Cluster cluster(3);
        check::expect_near(found_ns(cluster), 0.0, 60.0);
    });
    check::test("a way that is slower for the messages only is seen, halved and with its sign", [] {
        for (const int slow : {1, 2}) {
            Cluster cluster(3);
            cluster.way_ns = [slow](int from, int to, std::int64_t bytes, std::int64_t) {
                return from == slow && to != 0 && bytes == message_bytes ? 9000.0 : 1000.0;
            };
            check::expect_near(found_ns(cluster), slow == 1 ? 4000.0 : -4000.0, 60.0);
        }
    });
    check::test("a pair's own slow way is seen even when all messages are slow on it", [] {
        Cluster cluster(3);
        cluster.way_ns = [](int from, int to, std::int64_t, std::int64_t) {
            return from == 1 && to == 2 ? 9000.0 : 1000.0;
        };
        check::expect_near(found_ns(cluster), 4000.0, 60.0);
    });
    check::test("what slows all of a rank's messages alike is taken for its clock", [] {
        Cluster cluster(3);
        cluster.way_ns = [](int from, int, std::int64_t, std::int64_t) {
            return from == 1 ? 9000.0 : 1000.0;
        };
        check::expect_near(found_ns(cluster), 0.0, 60.0);
    });
    check::test("disturbed exchanges change nothing while some are not", [] {
        Cluster cluster(3);
        cluster.way_ns = [](int, int, std::int64_t bytes, std::int64_t number) {
            return bytes == message_bytes && number % 5 != 0 ? 500'000.0 : 1000.0;
        };
        check::expect_near(found_ns(cluster), 0.0, 60.0);
    });
    check::test("there are as many exchanges as there is time for, but some", [] {
        check::expect_equal(one_way_exchanges(1e-6, 1.0, 0), 32);
        check::expect_equal(one_way_exchanges(1e-6, 1.0, 5), 5);
        check::expect_equal(one_way_exchanges(1.0, 0.1, 0), 3);
        check::expect_equal(one_way_exchanges(5e-3, 0.2, 0), 5);
        check::expect_equal(one_way_exchanges(0.0, 1e-9, 1), 1);
    });
    return check::outcome();
}
