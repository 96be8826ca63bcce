// Several pairs, neighbours, or pairs under the load of others: one rank's part in it.
//
// Every pair measures with the code of a single pair's origin and target. In addition, all pairs do
// so at the same time (concurrent_rounds.hpp), and rank 0 processes all their samples
// (concurrent_director.hpp).
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "fabricgauge/concurrent_origin.hpp"
#include "fabricgauge/concurrent_roles.hpp"
#include "fabricgauge/concurrent_rounds.hpp"
#include "fabricgauge/load_parts.hpp"
#include "fabricgauge/patterns.hpp"
#include "fabricgauge/target_part.hpp"
#include "fabricgauge/together.hpp"

namespace fabricgauge {

// Largest amount of memory that one rank needs.
std::int64_t concurrent_memory_bytes(const Case& measured, int members, bool check);

// Operations that are timed as one sample at most. Under a load it is 1: a mean would hide the
// tail.
std::int64_t longest_concurrent_batch(Pattern pattern) noexcept;
// Messages of a sample that are counted: those of a window, in both directions of a bisection; 0 if
// rates are not counted.
std::int64_t counted_messages(const Case& measured) noexcept;

// Calls `action` with what a pair of a set of concurrent pairs does.
template <typename Transport, typename Action>
void with_pair(Pattern pattern, const Exchange<Transport>& exchange, Action&& action) {
    switch (pattern) {
        case Pattern::bandwidth: return action(Bandwidth<Transport>{exchange});
        case Pattern::bidirectional_bandwidth:
            return action(BidirectionalBandwidth<Transport>{exchange});
        default: return action(Latency<Transport>{exchange});
    }
}

template <typename Transport, typename Clock>
class ConcurrentPairs {
    using Traffic = decltype(std::declval<Transport&>().traffic(0));
    using Stream = LoadStream<Traffic>;

public:
    ConcurrentPairs(Transport& transport, const Clock& clock, const Case& measured,
          const Precision& precision, const Communicator& communicator)
        : transport_(transport), clock_(clock), measured_(measured), precision_(precision),
          communicator_(communicator),
          role_(concurrent_role(measured, communicator.members, communicator.rank)),
          loading_(loading_ranks(measured, communicator.members)) {}

    void run(TogetherResult& result) {
        auto group = transport_.form_group(role_.part == ConcurrentPart::origin);
        const double load_bytes_per_s = take_part(group, result);
        double in_sum = 0.0;
        const std::string own = std::to_string(load_bytes_per_s);
        for (const std::string& one : transport_.gather_in_communicator(own))
            in_sum += std::stod(one);
        group.close();
        result.together.ranks = communicator_.members;
        result.together.pairs = measuring_pairs(measured_, communicator_.members);
        result.together.load_bytes_per_s = in_sum;
    }

private:
    // Returns what this rank sent as load meanwhile, per second.
    template <typename Group>
    double take_part(Group& group, TogetherResult& result) {
        if (communicator_.rank == 0)
            for (const int rank : loading_) transport_.await_release(rank);
        switch (role_.part) {
            case ConcurrentPart::origin: measure(group, result); break;
            case ConcurrentPart::target: is_sink() ? serve(result) : answer(result); break;
            case ConcurrentPart::idle: transport_.await_release(0); break;
            case ConcurrentPart::loader: return make_load(result);
        }
        if (communicator_.rank == 0) release_others();
        return 0.0;
    }

    bool is_sink() const {
        return measured_.load == Load::incast && !loading_.empty() && communicator_.rank == sink();
    }
    // The target of the first victim.
    int sink() const { return concurrent_role(measured_, communicator_.members, 0).peer; }

    void release_others() {
        for (int rank = 0; rank < communicator_.members; ++rank) {
            const ConcurrentPart part = concurrent_role(measured_, communicator_.members, rank).part;
            if (part == ConcurrentPart::idle || part == ConcurrentPart::loader)
                transport_.release(rank);
        }
    }

    template <typename Group>
    void measure(Group& group, TogetherResult& result) {
        if (is_ring(measured_.pattern)) return measure_in_ring(group, result);
        const Case pair = case_of_pair(measured_, communicator_.rank, role_.peer);
        Messages messages(pair, precision_.check_data, nullptr);
        with_pair(pair.pattern, exchange_of(pair, messages), [&](const auto& running) {
            PairOrigin<Transport, std::decay_t<decltype(running)>> origin(running, messages, pair);
            make_rounds(group, origin, result);
        });
        if (communicator_.same_node(role_.peer)) result.payload_bytes = 0;
    }

    Exchange<Transport> exchange_of(const Case& pair, const Messages& messages) {
        transport_.reserve(2 * window_slots(pair));
        return {transport_, messages.slots(), pair.message_bytes, window_slots(pair), role_.peer};
    }

    template <typename Group>
    void measure_in_ring(Group& group, TogetherResult& result) {
        RingMessages messages(measured_, communicator_.rank, communicator_.members,
                              precision_.check_data);
        transport_.reserve(most_sides);
        if (sides_of(measured_.pattern) == 1)
            measure_in_ring(group, SendReceive<Transport>{transport_, messages.ring()}, messages,
                            result);
        else
            measure_in_ring(group, NeighbourExchange<Transport>{transport_, messages.ring()},
                            messages, result);
    }

    template <typename Group, typename Running>
    void measure_in_ring(Group& group, const Running& running, RingMessages& messages,
                         TogetherResult& result) {
        RingOrigin<Transport, Running> origin(running, messages, communicator_);
        make_rounds(group, origin, result);
    }

    template <typename Group, typename Origin>
    void make_rounds(Group& group, Origin& origin, TogetherResult& result) {
        const std::int64_t began_ns = clock_.now_ns();
        ConcurrentDirector director(measured_, precision_, group.ranks(), Origin::trips,
                               longest_concurrent_batch(measured_.pattern), communicator_.crowded,
                               Origin::waits_for_all ? Deciding::any_group
                                                     : Deciding::half_of_groups);
        ConcurrentRounds<Group, Clock, Origin> rounds(group, clock_, precision_, origin,
                                                 director.longest_round(),
                                                 communicator_.rank == 0 ? &director : nullptr);
        rounds.run();
        result.mismatch = origin.mismatch();
        result.compared = origin.compared();
        result.payload_bytes = origin.payload_bytes();
        result.wall_s = static_cast<double>(clock_.now_ns() - began_ns) * 1e-9;
        gather_medians(group, rounds.own(), result.together);
        if (communicator_.rank != 0) return;
        director.recorder().settle();
        result.recorder = std::move(director.recorder());
        result.stop = director.stop();
        result.batch = director.batch();
        result.waiting = director.waiting();
    }

    template <typename Group>
    void gather_medians(Group& group, const Recorder& own, Together& together) const {
        std::vector<std::int64_t> medians_ps(static_cast<std::size_t>(group.ranks()));
        const std::int64_t own_ps = median_ps(own);
        group.gather(&own_ps, 1, medians_ps.data());
        if (communicator_.rank != 0) return;
        const auto messages = static_cast<double>(counted_messages(measured_));
        for (const std::int64_t each_ps : medians_ps) {
            const double each_s = static_cast<double>(each_ps) * 1e-12;
            together.rank_medians_s.push_back(each_s);
            if (each_ps > 0) together.messages_per_s += messages / each_s;
        }
    }

    static std::int64_t median_ps(const Recorder& recorder) {
        std::vector<double> medians = recorder.blocks().medians_ps();
        return medians.empty() ? 0 : std::llround(median_of(medians.data(), medians.size()));
    }

    void answer(TogetherResult& result) {
        const Case pair = case_of_pair(measured_, role_.peer, communicator_.rank);
        Messages messages(pair, precision_.check_data, nullptr);
        with_pair(pair.pattern, exchange_of(pair, messages), [&](const auto& running) {
            answer(running, messages, pair, result);
        });
    }

    template <typename Running>
    void answer(const Running& running, Messages& messages, const Case& pair,
                TogetherResult& result) const {
        TargetResult done;
        TargetPart<std::decay_t<decltype(running.transport)>, Running>(running, messages, pair,
                                                                       precision_.read_waits)
            .run(done);
        if (!communicator_.same_node(role_.peer)) result.payload_bytes = done.payload_bytes;
    }

    LoadRoute route() const { return load_route(measured_, loading_, sink(), communicator_.rank); }

    double make_load(TogetherResult& result) {
        using Loading = LoadingRank<Traffic, Clock>;
        Stream stream(route(), load_in_flight(measured_), communicator_);
        Traffic traffic = transport_.traffic(stream.slots() + Loading::further_slots);
        const LoadResult done = Loading(traffic, clock_, stream).run();
        result.payload_bytes = done.bytes_abroad;
        return done.bytes_per_s;
    }

    void serve(TogetherResult& result) {
        using Serving = ServingTransport<Transport, Traffic>;
        Stream stream(route(), load_in_flight(measured_), communicator_);
        Traffic traffic = transport_.traffic(stream.slots() + Serving::further_slots);
        const Case pair = case_of_pair(measured_, role_.peer, communicator_.rank);
        Messages messages(pair, precision_.check_data, nullptr);
        Serving serving(transport_, traffic, stream);
        serving.begin();
        const Latency<Serving> running{serving, messages.slots(), pair.message_bytes, 1,
                                       role_.peer};
        answer(running, messages, pair, result);
        serving.finish();
    }

    Transport& transport_;
    const Clock& clock_;
    const Case& measured_;
    const Precision& precision_;
    const Communicator& communicator_;
    ConcurrentRole role_;
    std::vector<int> loading_;
};

template <typename Transport, typename Clock>
void measure_concurrent_pairs(Transport& transport, const Clock& clock, const Case& measured,
                              const Precision& precision, const Communicator& communicator,
                              TogetherResult& result) {
    ConcurrentPairs<Transport, Clock>(transport, clock, measured, precision, communicator).run(result);
}

}  // namespace fabricgauge
