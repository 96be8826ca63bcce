// All ranks in one operation: see pattern.hpp's collective family.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "fabricgauge/measuring.hpp"
#include "fabricgauge/together.hpp"

namespace fabricgauge {

// Largest amount of memory that one rank needs.
std::int64_t collective_memory_bytes(const Case& measured, int members, bool check) noexcept;

template <typename Transport, typename Clock>
void measure_collective(Transport&, const Clock&, const Case& measured, const Precision&,
                        const Company&, TogetherResult&) {
    throw std::invalid_argument(std::string(name_of(measured.pattern)) + " is not built in");
}

}  // namespace fabricgauge
