#include "fabricgauge/number.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace fabricgauge {

std::optional<std::int64_t> whole_number(const std::string& text) {
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (text.empty() || error != std::errc{} || stopped != end) return std::nullopt;
    return value;
}

std::optional<double> real_number(const std::string& text) {
    // strtod also takes hexadecimal, "inf", "nan" and leading blanks.
    if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string::npos)
        return std::nullopt;
    char* stopped = nullptr;
    const double value = std::strtod(text.c_str(), &stopped);
    if (stopped != text.c_str() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

}  // namespace fabricgauge
