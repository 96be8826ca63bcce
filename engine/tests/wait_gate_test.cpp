#include "fabricgauge/wait_gate.hpp"

#include "check.hpp"

using namespace fabricgauge;

namespace {

constexpr double budget_s = 0.3;
constexpr Precision usual{0.01, 0.95, 0, 20e-9, false, false, no_waits, longest_extension_s};

Case with(Pattern pattern, std::int64_t bytes) { return {"a", pattern, bytes, 1, 0, 1, budget_s}; }

WaitGate gate(const Precision& precision = usual, bool crowded = false) {
    WaitGate opened(with(Pattern::allreduce, 8), precision, budget_s, crowded);
    opened.begin({{10, 1'000'000}});
    return opened;
}

// A wait in each of 20 samples, for half of 0.2 s; as many short ones; and none.
const GroupWaits waits{{30, 101'000'000}};
const GroupWaits short_waits{{30, 3'000'000}};
const GroupWaits none{{10, 1'000'000}};

}  // namespace

int main() {
    check::test("an interval of samples that waits made does not end the case, any other does", [] {
        WaitGate waiting = gate();
        check::expect(!waiting.interval_ends(waits, 20, 0.2));
        check::expect(waiting.waiting());
        for (const GroupWaits& sound : {short_waits, none}) {
            WaitGate quiet = gate();
            check::expect(quiet.interval_ends(sound, 20, 0.2));
            check::expect(!quiet.waiting());
        }
    });
    check::test("a budget of such samples is extended once, up to a limit, and the case is marked", [] {
        WaitGate waiting = gate();
        check::expect(waiting.is_spent(0.29, 0.02));
        check::expect(!waiting.budget_ends(waits, 20, 0.2, 0.29));
        check::expect(waiting.waits_out());
        const double limit_s = longest_with_waits_s(budget_s, longest_extension_s) - budget_s;
        check::expect(!waiting.is_spent(limit_s - 0.01, 0.005));
        check::expect(waiting.is_spent(limit_s, 0.001));
        check::expect(waiting.budget_ends(waits, 20, 0.2, limit_s));
        check::expect(waiting.waiting());
        WaitGate quiet = gate();
        check::expect(quiet.budget_ends(short_waits, 20, 0.2, 0.29));
        check::expect(!quiet.waiting());
    });
    check::test("the first block without waits begins the case anew, with another budget", [] {
        WaitGate waiting = gate();
        check::expect(!waiting.budget_ends(waits, 20, 0.2, 0.29));
        const GroupWaits later{{40, 301'000'000}};
        check::expect(!waiting.has_passed(later, 10, 0.3, 0.6));
        check::expect(!waiting.has_passed(later, 0, 0.1, 0.7));  // no sample began in time
        check::expect(waiting.has_passed(later, 10, 0.01, 0.71));
        check::expect(!waiting.waits_out());
        check::expect(!waiting.waiting());
        check::expect(!waiting.is_spent(1.0, 0.005));
        check::expect(waiting.is_spent(1.0, 0.02));
        check::expect(waiting.interval_ends(later, 1000, 0.2));
    });
    check::test("ranks that outnumber their processors are marked, and nothing takes longer", [] {
        WaitGate crowded = gate(usual, true);
        check::expect(crowded.interval_ends(waits, 20, 0.2));
        check::expect(crowded.waiting());
        check::expect(crowded.budget_ends(waits, 20, 0.2, 0.29));
        check::expect(crowded.waiting());
        check::expect(crowded.interval_ends(none, 20, 0.2));
        check::expect(!crowded.waiting());
    });
    check::test("a number of iterations is neither extended nor left unmarked", [] {
        Precision counted = usual;
        counted.iterations = 20;
        WaitGate waiting = gate(counted);
        waiting.look(waits, 20, 0.2);
        check::expect(waiting.waiting());
        check::expect(waiting.budget_ends(waits, 20, 0.2, 0.0));
    });
    check::test("large messages, and a host that counts no waits, are not asked", [] {
        Precision unknown = usual;
        unknown.read_waits = nullptr;
        check::expect(gate().reads());
        check::expect(!gate(unknown).reads());
        check::expect(gate(unknown).interval_ends({}, 20, 0.2));
        WaitGate large(with(Pattern::bcast, 8193), usual, budget_s);
        check::expect(!large.reads());
        check::expect(large.budget_ends({}, 20, 0.2, 0.29));
        check::expect(!large.waiting());
    });
    check::test("waits of one pair of four leave the median alone, those of two do not", [] {
        WaitGate pairs(with(Pattern::multi_latency, 8), usual, budget_s);
        pairs.begin(GroupWaits(4));
        const Waits long_ones{20, 100'000'000};
        check::expect(pairs.interval_ends({long_ones, {}, {}, {}}, 20, 0.2));
        check::expect(!pairs.waiting());
        check::expect(!pairs.interval_ends({long_ones, {}, {}, long_ones}, 20, 0.2));
        check::expect(pairs.waiting());
    });
    check::test("waits of one rank of 64 hold a collective up, those of all leave it alone", [] {
        // 1280 samples of 50 us: one wait of 25 us in 128 of them, so 0.4 % of each rank's time.
        const std::int64_t samples = 1280;
        const double measured_s = 0.064;
        const Waits usual_ones{10, 250'000};
        const Waits starved{samples, 32'000'000};
        GroupWaits ranks(64, usual_ones);
        Waits sum;
        for (const Waits& waited : ranks) sum = sum + waited;
        check::expect(waits_made_median(sum, samples, measured_s));

        WaitGate healthy(with(Pattern::allreduce, 8), usual, budget_s, false, Deciding::any_group);
        // A long past of one rank hides nothing.
        GroupWaits before(64);
        before[63] = {1'000'000, 100'000'000'000};
        healthy.begin(before);
        ranks[63] = before[63] + usual_ones;
        check::expect(healthy.interval_ends(ranks, samples, measured_s));
        check::expect(healthy.budget_ends(ranks, samples, measured_s, 0.29));
        check::expect(!healthy.waiting());

        ranks[17] = starved;
        check::expect(!healthy.interval_ends(ranks, samples, measured_s));
        check::expect(!healthy.budget_ends(ranks, samples, measured_s, 0.29));
        check::expect(healthy.waiting());
        GroupWaits later = ranks;
        later[17] = later[17] + starved;
        check::expect(!healthy.has_passed(later, samples, measured_s, 0.4));
        for (Waits& waited : later) waited = waited + usual_ones;
        check::expect(healthy.has_passed(later, samples, measured_s, 0.5));
    });
    return check::outcome();
}
