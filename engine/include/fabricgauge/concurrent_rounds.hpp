// The rounds of a measuring rank: all begin together, and none stops before all have their samples.
//
// A rank that has taken its samples goes on, without keeping the times, until every other has too.
// So no rank measures a network that the others have left.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fabricgauge/concurrent_director.hpp"
#include "fabricgauge/origin_part.hpp"
#include "fabricgauge/recorder.hpp"
#include "fabricgauge/transport.hpp"

namespace fabricgauge {

// Puts samples + 1 readings where `stamps_ns` points to.
template <typename Clock, typename Operation>
void time_samples(const Clock& clock, std::int64_t* const stamps_ns, std::int64_t samples,
                  std::int64_t batch, const Operation operation) {
    stamps_ns[0] = clock.now_ns();
    for (std::int64_t i = 1; i <= samples; ++i) {
        for (std::int64_t repeat = 0; repeat < batch; ++repeat) operation();
        stamps_ns[i] = clock.now_ns();
    }
}

// `Origin`: see concurrent_origin.hpp.
template <typename Group, typename Clock, typename Origin>
class ConcurrentRounds {
public:
    // `director` decides at rank 0 and is null elsewhere.
    ConcurrentRounds(Group& group, const Clock& clock, const Precision& precision, Origin& origin,
                std::int64_t longest_round, ConcurrentDirector* director)
        : group_(group), clock_(clock), read_waits_(precision.read_waits),
          check_(precision.check_data),
          check_first_(precision.check_first), origin_(origin), director_(director),
          stamps_(static_cast<std::size_t>(longest_round) + 1),
          all_(director == nullptr ? 0 : static_cast<std::size_t>(longest_round * group.ranks())),
          own_(static_cast<std::size_t>(longest_round / most_blocks_of_round)) {}

    void run() {
        const std::int64_t began_ns = clock_.now_ns();
        if (check_first_) {
            origin_.announce({1, 1, 0, 1});
            origin_.checked_ns(clock_);
        }
        ConcurrentRound previous{};
        for (ConcurrentRound round = told();; round = told()) {
            if (round.last_counts != 0) keep(previous);
            if (round.anew != 0) own_.discard_all();
            if (round.samples == 0) break;
            if (round.samples < 0) {
                tell_waits();
                continue;
            }
            const std::int64_t round_began_ns = clock_.now_ns();
            make(round);
            group_.gather(stamps_.data(), round.samples, all_.data());
            if (director_ != nullptr)
                director_->take(round, all_.data(), seconds_since(began_ns),
                                seconds_since(round_began_ns));
            previous = round;
        }
        origin_.end();
        own_.settle();
    }

    // The samples of this rank alone.
    const Recorder& own() const noexcept { return own_; }

private:
    double seconds_since(std::int64_t began_ns) const {
        return static_cast<double>(clock_.now_ns() - began_ns) * 1e-9;
    }

    ConcurrentRound told() {
        ConcurrentRound round{};
        if (director_ != nullptr) round = director_->next();
        group_.tell(&round, sizeof round);
        return round;
    }

    // Of each pair, or of each rank of a ring.
    void tell_waits() {
        const Waits waits = origin_.ask_waits(read_waits_);
        const std::int64_t own[] = {waits.turns, waits.waited_ns};
        std::vector<std::int64_t> all(
            director_ == nullptr ? 0 : 2 * static_cast<std::size_t>(group_.ranks()));
        group_.gather(own, 2, all.data());
        if (director_ == nullptr) return;
        GroupWaits groups;
        for (std::size_t i = 0; i < all.size(); i += 2) groups.push_back({all[i], all[i + 1]});
        director_->take_waits(groups);
    }

    void make(const ConcurrentRound& round) {
        origin_.announce({round.samples, round.batch, round.lead_in, check_ ? 1 : 0});
        group_.barrier();
        const auto operation = origin_.operation();
        for (std::int64_t i = 0; i < round.lead_in; ++i) operation();
        if (check_)
            check_samples(round.samples);
        else
            time_samples(clock_, stamps_.data(), round.samples, round.batch, operation);
        if constexpr (Origin::goes_on) go_on(round.further);
        to_picoseconds(round);
    }

    void check_samples(std::int64_t samples) {
        stamps_[0] = 0;
        for (std::int64_t i = 0; i < samples; ++i)
            stamps_[i + 1] = stamps_[i] + origin_.checked_ns(clock_);
    }

    void go_on(std::int64_t operations) {
        if (group_.ranks() == 1) return;
        const auto operation = origin_.operation();
        for (group_.enter_barrier(); !group_.barrier_passed();) {
            origin_.announce({operations, 1, 0, check_ ? 1 : 0});
            for (std::int64_t i = 0; i < operations; ++i)
                if (check_)
                    origin_.checked_ns(clock_);
                else
                    operation();
        }
    }

    // In place: the readings become samples, one message's way.
    void to_picoseconds(const ConcurrentRound& round) {
        const std::int64_t share = round.batch * Origin::trips;
        for (std::int64_t i = 0; i < round.samples; ++i)
            stamps_[i] = ((stamps_[i + 1] - stamps_[i]) * 1000 + share / 2) / share;
    }

    void keep(const ConcurrentRound& round) {
        for (std::int64_t first = 0; first < round.samples; first += round.block)
            own_.add_block(stamps_.data() + first, static_cast<std::size_t>(std::min(
                                                       round.block, round.samples - first)));
    }

    Group& group_;
    const Clock& clock_;
    ReadWaits read_waits_;
    bool check_;
    bool check_first_;
    Origin& origin_;
    ConcurrentDirector* director_;
    std::vector<std::int64_t> stamps_;
    std::vector<std::int64_t> all_;
    Recorder own_;
};

}  // namespace fabricgauge
