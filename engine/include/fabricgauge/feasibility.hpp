// The check that a case can run, and the reason if it cannot.
#pragma once

#include <cstdint>
#include <string>

#include "fabricgauge/case_list.hpp"

namespace fabricgauge {

// Empty if the launch has the ranks that the case names.
std::string missing_ranks(const Case& measured, int ranks);

// The number of the launch's ranks that take part in a case of many.
int members_of(const Case& measured, int ranks) noexcept;

// Empty if `needed_bytes` are at most half of what is available, shared among the ranks of a node.
std::string missing_memory(std::int64_t needed_bytes, std::int64_t available_bytes, int ranks_on_node,
                           const std::string& host);

}  // namespace fabricgauge
