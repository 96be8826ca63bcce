#if __has_include(<rdma/fabric.h>) && !defined(FABRICGAUGE_SIMULATED)

#include "fabricgauge/ofi_transport.hpp"

namespace fabricgauge {

std::string beyond_ofi(const Case& measured, const OfiLimits& limits, const std::string& provider) {
    const std::string who = "endpoints of " + provider;
    const std::string lacking = beyond_abilities(measured, limits.abilities, who);
    if (!lacking.empty()) return lacking;
    if (measured.message_bytes > limits.message_bytes)
        return who + " carry messages of up to " + std::to_string(limits.message_bytes) + " B";
    if (is_one_sided(measured.pattern) && measured.message_bytes == 0)
        return "libfabric's providers need not complete a write or read of 0 B: shm does not";
    const bool puts =
        measured.pattern == Pattern::put_latency || measured.pattern == Pattern::put_bandwidth;
    if (puts && !limits.delivery) return who + " do not tell when a put has arrived";
    return "";
}

}  // namespace fabricgauge

#endif
