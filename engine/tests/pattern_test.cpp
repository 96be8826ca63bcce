#include "fabricgauge/pattern.hpp"

#include "check.hpp"

using namespace fabricgauge;

int main() {
    check::test("a pattern is found by its name", [] {
        for (const Pattern pattern : {Pattern::latency, Pattern::bisection, Pattern::ialltoallv,
                                      Pattern::all_pairs_bandwidth})
            check::expect(pattern_named(name_of(pattern)) == pattern);
        check::expect(!pattern_named("ping"));
        check::expect(!pattern_named(""));
    });
    check::test("families and properties are those of the pattern", [] {
        check::expect(family_of(Pattern::ping_ping) == Family::pair);
        check::expect(family_of(Pattern::exchange) == Family::concurrent_pairs);
        check::expect(family_of(Pattern::ibarrier) == Family::collective);
        check::expect(family_of(Pattern::all_pairs_latency) == Family::round_robin);
        check::expect(is_one_sided(Pattern::get_bandwidth) && has_window(Pattern::get_bandwidth));
        check::expect(!is_one_sided(Pattern::bandwidth) && !has_window(Pattern::put_latency));
    });
    return check::outcome();
}
