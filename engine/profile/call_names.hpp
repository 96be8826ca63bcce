// The names of all recorded calls with their kinds, a line each, as a profile has them.
#pragma once

#include <string>

namespace fabricgauge {

std::string call_names();

}  // namespace fabricgauge
