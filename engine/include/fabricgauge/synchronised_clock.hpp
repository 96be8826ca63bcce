// One clock for all ranks of a communicator: rank 0's, as every rank works it out from its own.
//
// The scheme is HCA3's (S. Hunold, A. Carpen-Amarie, IEEE CLUSTER 2018): the lowest ranks of the
// nodes form a tree of log2 levels, in which each learns its parent's clock by ping-pongs, all
// pairs of a level at once; ranks that share a node share its clock. The difference from HCA3:
// offsets of the whole launch, not of one moment, give the slopes, so that a renewal takes a few
// dozen messages. docs/development/clocks.md describes the limits of this clock.
//
// A clock that all ranks already share sets `shared_by_all`; then nothing is sent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <vector>

#include "fabricgauge/clock_model.hpp"
#include "fabricgauge/together.hpp"
#include "fabricgauge/round_robin_rounds.hpp"
#include "fabricgauge/transport.hpp"

namespace fabricgauge {

template <typename Clock, typename = void>
struct IsShared : std::false_type {};
template <typename Clock>
struct IsShared<Clock, std::void_t<decltype(Clock::shared_by_all)>>
    : std::bool_constant<Clock::shared_by_all> {};

// Lowest ranks of the communicator's nodes, ascending.
std::vector<int> lowest_ranks_of_nodes(const Communicator& communicator);
// Place in the tree of the one that place > 0 learns from: without its highest bit.
int parent_in_tree(int place) noexcept;

template <typename Transport, typename Clock>
class SynchronisedClock {
public:
    SynchronisedClock(Transport& transport, const Clock& clock)
        : transport_(transport), clock_(clock) {}

    std::int64_t to_common(std::int64_t own_ns) const noexcept { return model_.to_other(own_ns); }
    std::int64_t to_own(std::int64_t common_ns) const noexcept { return model_.to_own(common_ns); }

    // A case with these ranks begins; they must outlive it.
    void begin(const Communicator& communicator) { communicator_ = &communicator; }

    // Collective. Learns the parent's clock anew.
    void renew() {
        if constexpr (!IsShared<Clock>::value) {
            learn();
            agree_on_age();
        }
    }

    // Collective. The largest difference between two ranks' readings of the common clock, of each
    // rank with some of other nodes; seconds, known to all. All pairs of up to 4 ranks.
    double disagreement_s() {
        if constexpr (IsShared<Clock>::value) {
            return 0.0;
        } else {
            const int rounds = rounds_of_round_robin(communicator_->members);
            const int checked = std::min(rounds, most_partners);
            std::int64_t least = 0;
            for (int i = 0; i < checked; ++i)
                least = std::min<std::int64_t>(
                    least, -std::llabs(disagreement_in_round_ns(i * rounds / checked)));
            transport_.minimum_in_communicator(&least, 1);
            return static_cast<double>(-least) * 1e-9;
        }
    }

    // Return true if the clock may have drifted too far to be kept.
    bool is_due() const noexcept {
        if constexpr (IsShared<Clock>::value) return false;
        return clock_.now_ns() - renewed_ns_ > longest_age_ns_;
    }

private:
    // Enough that both ways are undisturbed once, even on a busy node; 32 of some µs.
    static constexpr int exchanges = 32;
    // If frames are lost, an answer takes as long as TCP's timer, 200 ms and more: fewer exchanges
    // suffice.
    static constexpr int fewest_exchanges = 4;
    static constexpr std::int64_t longest_search_ns = 50'000'000;
    static constexpr int most_partners = 3;
    static constexpr std::int64_t shortest_renewal_ns = 2'000'000;
    static constexpr std::int64_t longest_renewal_ns = 1'000'000'000;

    ClockOffset ask(int peer) {
        OffsetSearch search;
        const std::int64_t first_ns = clock_.now_ns();
        char more = 1;
        for (int i = 1; more != 0; ++i) {
            const std::int64_t began_ns = clock_.now_ns();
            const bool late = i >= fewest_exchanges && began_ns - first_ns > longest_search_ns;
            more = i < exchanges && !late ? 1 : 0;
            transport_.send_control(&more, sizeof more, peer);
            std::int64_t other_ns = 0;
            transport_.receive_control(&other_ns, sizeof other_ns, peer);
            search.add(began_ns, other_ns, clock_.now_ns());
        }
        return search.found();
    }

    std::int64_t disagreement_in_round_ns(int round) {
        const int partner = partner_in_round(communicator_->rank, round, communicator_->members);
        // Ranks of a node read one clock, so whatever they saw would be the check's own error.
        if (partner < 0 || communicator_->same_node(partner)) return 0;
        if (partner > communicator_->rank) {
            answer(partner, model_);
            return 0;
        }
        const ClockOffset seen = ask(partner);
        return seen.at_ns + seen.offset_ns - to_common(seen.at_ns);
    }

    // Sends the peer this rank's readings, converted by `told`, as often as it asks.
    void answer(int peer, const ClockModel& told) {
        char more = 1;
        while (more != 0) {
            transport_.receive_control(&more, sizeof more, peer);
            const std::int64_t now_ns = told.to_other(clock_.now_ns());
            transport_.send_control(&now_ns, sizeof now_ns, peer);
        }
    }

    void learn() {
        const std::vector<int> leaders = lowest_ranks_of_nodes(*communicator_);
        const auto own = std::find(leaders.begin(), leaders.end(), communicator_->rank);
        if (own != leaders.end())
            learn_in_tree(leaders, static_cast<int>(own - leaders.begin()));
        share_on_node(*communicator_);
        renewed_ns_ = clock_.now_ns();
    }

    void learn_in_tree(const std::vector<int>& leaders, int place) {
        const int count = static_cast<int>(leaders.size());
        if (place > 0) {
            const int parent = leaders[static_cast<std::size_t>(parent_in_tree(place))];
            history_.add(ask(parent));
            ClockModel beyond;
            transport_.receive_control(&beyond, sizeof beyond, parent);
            model_ = history_.model().then(beyond);
        }
        int level = 1;
        while (level <= place) level *= 2;
        for (; place + level < count; level *= 2) {
            const int child = leaders[static_cast<std::size_t>(place + level)];
            answer(child, {});
            transport_.send_control(&model_, sizeof model_, child);
        }
    }

    void share_on_node(const Communicator& communicator) {
        int leader = communicator.rank;
        for (int rank = communicator.rank - 1; rank >= 0; --rank)
            if (communicator.same_node(rank)) leader = rank;
        if (leader != communicator.rank)
            return transport_.receive_control(&model_, sizeof model_, leader);
        for (int rank = communicator.rank + 1; rank < communicator.members; ++rank)
            if (communicator.same_node(rank)) transport_.send_control(&model_, sizeof model_, rank);
    }

    // The worst slope of all ranks decides how long the clock is good.
    void agree_on_age() {
        std::int64_t worst[2] = {0, 0};
        if (!history_.empty()) {
            worst[0] = -history_.half_width_ns();
            worst[1] = -static_cast<std::int64_t>(history_.slope_error() * 1e12);
        }
        transport_.minimum_in_communicator(worst, 2);
        // A drift that is small beside what an offset's measurement leaves open anyway.
        const double allowed_ns = std::max(50.0, static_cast<double>(-worst[0]) / 50.0);
        const double slope_error = std::max(static_cast<double>(-worst[1]) * 1e-12, 1e-9);
        longest_age_ns_ = static_cast<std::int64_t>(
            std::clamp(allowed_ns / slope_error, static_cast<double>(shortest_renewal_ns),
                       static_cast<double>(longest_renewal_ns)));
    }

    Transport& transport_;
    const Clock& clock_;
    const Communicator* communicator_ = nullptr;
    OffsetHistory history_;
    ClockModel model_;
    std::int64_t renewed_ns_ = 0;
    std::int64_t longest_age_ns_ = 0;
};

}  // namespace fabricgauge
