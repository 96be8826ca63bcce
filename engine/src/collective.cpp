#include "fabricgauge/collective.hpp"

namespace fabricgauge {

std::int64_t collective_memory_bytes(const Case& measured, int rank, int members) noexcept {
    if (rank >= members) return 0;
    const CollectiveSizes sizes = sizes_of(measured, rank, members);
    return sizes.out + sizes.in;
}

}  // namespace fabricgauge
