// Strict reading of numbers: the whole text is the number, or there is none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace fabricgauge {

std::optional<std::int64_t> whole_number(const std::string& text);
// Finite, in decimal notation.
std::optional<double> real_number(const std::string& text);

}  // namespace fabricgauge
