// Measuring one case: the origin's and the target's part.
//
// Only the origin decides when the measurement ends. It sends the target the length of each round.
// Then both run one untimed iteration (or one empty message if iterations are long), and after it
// the timed block. Between the clock readings of a block there are only the pattern's calls: the
// readings go into allocated memory, and are examined after the block.
//
// When data are checked, each sample is a round trip of its own: fill, ready, sample, verify.
#pragma once

#include <type_traits>

#include "fabricgauge/origin_part.hpp"
#include "fabricgauge/pair_patterns.hpp"
#include "fabricgauge/target_part.hpp"

namespace fabricgauge {

template <typename Transport, typename Clock>
OriginResult measure_as_origin(Transport& transport, const Clock& clock, Messages& messages,
                               const Case& measured, const Precision& precision) {
    OriginResult result;
    with_pair_pattern(measured, transport, messages, measured.target, [&](const auto& running) {
        using Running = std::decay_t<decltype(running)>;
        running.open_as_origin();
        OriginPart<Transport, Clock, Running>(running, messages, clock, measured, precision)
            .run(result);
        running.close();
    });
    return result;
}

template <typename Transport>
TargetResult measure_as_target(Transport& transport, Messages& messages, const Case& measured,
                               ReadWaits read_waits = waits_of_this_thread) {
    TargetResult result;
    with_pair_pattern(measured, transport, messages, measured.origin, [&](const auto& running) {
        using Running = std::decay_t<decltype(running)>;
        running.open_as_target();
        TargetPart<Transport, Running>(running, messages, measured, read_waits).run(result);
        running.close();
    });
    return result;
}

}  // namespace fabricgauge
