// Several pairs, neighbours, or pairs under the load of others: see pattern.hpp's crowd family.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "fabricgauge/measuring.hpp"
#include "fabricgauge/together.hpp"

namespace fabricgauge {

// Largest amount of memory that one rank needs.
std::int64_t crowd_memory_bytes(const Case& measured, int members, bool check) noexcept;

template <typename Transport, typename Clock>
void measure_crowd(Transport&, const Clock&, const Case& measured, const Precision&, const Company&,
                   TogetherResult&) {
    throw std::invalid_argument(std::string(name_of(measured.pattern)) + " is not built in");
}

}  // namespace fabricgauge
