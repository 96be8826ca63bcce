#include "fabricgauge/json.hpp"

#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace fabricgauge {

namespace {

constexpr std::string_view replacement = "\\ufffd";

// Length of the well-formed UTF-8 sequence at the beginning of text; 0 if there is none.
// Source: The Unicode Standard 15.0, table 3-7.
std::size_t utf8_length(std::string_view text) {
    const auto at = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const auto continues = [&](std::size_t i) { return at(i) >= 0x80 && at(i) <= 0xbf; };
    const unsigned lead = at(0);
    if (lead < 0x80) return 1;
    if (lead >= 0xc2 && lead <= 0xdf) return continues(1) ? 2 : 0;
    if (lead >= 0xe0 && lead <= 0xef) {
        const bool overlong = lead == 0xe0 && at(1) < 0xa0;
        const bool surrogate = lead == 0xed && at(1) > 0x9f;
        return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        const bool overlong = lead == 0xf0 && at(1) < 0x90;
        const bool too_large = lead == 0xf4 && at(1) > 0x8f;
        return continues(1) && continues(2) && continues(3) && !overlong && !too_large ? 4 : 0;
    }
    return 0;
}

}  // namespace

JsonWriter& JsonWriter::key(std::string_view name) {
    separate();
    quote(name);
    text_ += ':';
    first_ = true;
    return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
    separate();
    quote(text);
    return *this;
}

JsonWriter& JsonWriter::value(std::int64_t number) { return raw(std::to_string(number)); }

JsonWriter& JsonWriter::value(double number) {
    if (!std::isfinite(number)) throw std::invalid_argument("JSON has no number that is not finite");
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.12g", number);
    return raw(digits);
}

JsonWriter& JsonWriter::value(bool truth) { return raw(truth ? "true" : "false"); }

JsonWriter& JsonWriter::null() { return raw("null"); }

JsonWriter& JsonWriter::raw(std::string_view json) {
    separate();
    text_ += json;
    return *this;
}

JsonWriter& JsonWriter::open(char bracket) {
    separate();
    text_ += bracket;
    first_ = true;
    return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
    text_ += bracket;
    first_ = false;
    return *this;
}

void JsonWriter::separate() {
    if (!first_) text_ += ',';
    first_ = false;
}

void JsonWriter::quote(std::string_view text) {
    text_ += '"';
    while (!text.empty()) {
        const auto byte = static_cast<unsigned char>(text.front());
        const std::size_t length = utf8_length(text);
        if (byte == '"' || byte == '\\') {
            text_ += '\\';
            text_ += text.front();
        } else if (byte < 0x20 || byte == 0x7f) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", byte);
            text_ += escape;
        } else {
            text_ += length == 0 ? replacement : text.substr(0, length);
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    text_ += '"';
}

}  // namespace fabricgauge
