// A value that was read from the kernel, or the reason why it could not be read. Never 0 instead.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "fabricgauge/json.hpp"

namespace fabricgauge {

struct Absent {
    std::string reason;
};

template <typename Value>
class Seen {
public:
    Seen(Value value) : content_(std::move(value)) {}
    Seen(Absent absent) : content_(std::move(absent)) {}

    bool known() const noexcept { return std::holds_alternative<Value>(content_); }
    // Call this only for a known value.
    const Value& value() const { return std::get<Value>(content_); }
    // Call this only for an absent value.
    const Absent& absent() const { return std::get<Absent>(content_); }

private:
    std::variant<Value, Absent> content_;
};

// `combine` of both values; the first reason where one is absent.
template <typename Value, typename Combine>
auto of_both(const Seen<Value>& before, const Seen<Value>& after, Combine&& combine)
    -> Seen<decltype(combine(before.value(), after.value()))> {
    if (!before.known()) return before.absent();
    if (!after.known()) return after.absent();
    return combine(before.value(), after.value());
}

// A value that could not be read is written as an object with its reason.
inline void write_absent(JsonWriter& json, const Absent& absent) {
    json.begin_object().member("type", "skipped").member("reason", absent.reason).end_object();
}

// The value as `write_value` writes it.
template <typename Value, typename Write>
void write_seen(JsonWriter& json, const Seen<Value>& seen, Write&& write_value) {
    if (seen.known())
        write_value(seen.value());
    else
        write_absent(json, seen.absent());
}

template <typename Value>
void write_seen(JsonWriter& json, const Seen<Value>& seen) {
    write_seen(json, seen, [&](const Value& value) { json.value(value); });
}

// "PATH: Permission denied", of the call that failed last.
Absent cannot_read(const std::string& path);

}  // namespace fabricgauge
