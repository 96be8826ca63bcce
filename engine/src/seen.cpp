#include "fabricgauge/seen.hpp"

#include <cerrno>
#include <cstring>

namespace fabricgauge {

Absent cannot_read(const std::string& path) { return {path + ": " + std::strerror(errno)}; }

}  // namespace fabricgauge
