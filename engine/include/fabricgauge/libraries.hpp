// The shared libraries that are mapped into this process, providers and plug-ins among them.
#pragma once

#include <string>
#include <vector>

namespace fabricgauge {

// Paths in ascending order, each once, from text like that of /proc/PID/maps. A path with ".so"
// at its end or followed by a dot is a library's.
std::vector<std::string> libraries_in(const std::string& maps);

std::vector<std::string> loaded_libraries();

}  // namespace fabricgauge
