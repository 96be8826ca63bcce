// All ranks in one operation: see pattern.hpp's collective family.
#pragma once

#include <cstdint>

#include "fabricgauge/collective_lead.hpp"

namespace fabricgauge {

// Memory that a rank of the communicator needs.
std::int64_t collective_memory_bytes(const Case& measured, int rank, int members) noexcept;

// `common` keeps what it learnt of the clocks from case to case; buffers lie on `device` if there is one.
template <typename Transport, typename Clock>
void measure_collective(Transport& transport, const Clock& clock,
                        SynchronisedClock<Transport, Clock>& common, const Case& measured,
                        const Precision& precision, const Communicator& communicator,
                        TogetherResult& result, DeviceMemory* device = nullptr) {
    CollectivePart<Transport, Clock> part(transport, clock, common, measured, communicator,
                                          precision, device);
    if (communicator.rank == 0)
        CollectiveLead<Transport, Clock>(part, clock, common, measured, precision,
                                         communicator.crowded, result)
            .run();
    else
        part.follow();
    result.mismatch = part.blocks().mismatch();
    result.compared = part.blocks().compared();
    result.together.ranks = communicator.members;
    result.together.rank_medians_s = part.gather_medians_s();
}

}  // namespace fabricgauge
