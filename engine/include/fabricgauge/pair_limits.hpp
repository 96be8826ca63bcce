// Options that a pattern of a pair does not allow, independent of the launch's resources.
#pragma once

#include <string>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/device_memory.hpp"

namespace fabricgauge {

// Empty if the case can run; else why not, and what to do. `thread_level` is what MPI grants the
// launch by its name in the MPI standard, like MPI_THREAD_SINGLE.
std::string beyond_pair(const Case& measured, const std::string& thread_level);

// Empty if the case can have its buffers there. Device memory is for one pair and for collectives, of
// what only moves data.
std::string beyond_memory(const Case& measured, const MemoryOptions& memory);

// Empty if the pattern has the buffers of the case and they allow the check of all data; `only_pairs` is
// true for a transport other than MPI.
std::string beyond_buffers(const Case& measured, bool check_data, bool only_pairs);

// The same for a transport other than MPI with these abilities, which `who` names in the plural.
std::string beyond_abilities(const Case& measured, Abilities abilities, const std::string& who);

}  // namespace fabricgauge
