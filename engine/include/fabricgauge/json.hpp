// Writing JSON: one value after the other into a string, commas and escapes taken care of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fabricgauge {

class JsonWriter {
public:
    JsonWriter& begin_object() { return open('{'); }
    JsonWriter& end_object() { return close('}'); }
    JsonWriter& begin_array() { return open('['); }
    JsonWriter& end_array() { return close(']'); }
    JsonWriter& key(std::string_view name);

    JsonWriter& value(std::string_view text);
    JsonWriter& value(const char* text) { return value(std::string_view(text)); }
    JsonWriter& value(std::int64_t number);
    JsonWriter& value(int number) { return value(static_cast<std::int64_t>(number)); }
    // JSON has no infinities: throws std::invalid_argument for a number that is not finite.
    JsonWriter& value(double number);
    JsonWriter& value(bool truth);
    JsonWriter& null();
    // JSON text that is complete in itself.
    JsonWriter& raw(std::string_view json);

    template <typename Value>
    JsonWriter& member(std::string_view name, const Value& content) {
        return key(name).value(content);
    }

    const std::string& text() const noexcept { return text_; }

private:
    JsonWriter& open(char bracket);
    JsonWriter& close(char bracket);
    void separate();
    void quote(std::string_view text);

    std::string text_;
    bool first_ = true;
};

}  // namespace fabricgauge
