// Versions that the records carry, and the compiler that made this program.
#pragma once

#include <string>

namespace fabricgauge {

constexpr const char* engine_version = "0.2.0";
// A reader accepts every file of the same major number.
constexpr const char* format_version = "2.10";

// Name, version and the flags that the build named.
std::string compiler_text();

}  // namespace fabricgauge
