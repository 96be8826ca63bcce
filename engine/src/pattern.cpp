#include "fabricgauge/pattern.hpp"

#include <cstddef>
#include <iterator>

namespace fabricgauge {

namespace {

struct Traits {
    const char* name;
    Family family;
    Sides sides;
    Sample sample;
    Abilities ability;
};

#define FABRICGAUGE_TRAITS(name, family, sides, sample, ability) \
    {#name, Family::family, Sides::sides, Sample::sample, Abilities::ability},
constexpr Traits table[] = {FABRICGAUGE_PATTERNS(FABRICGAUGE_TRAITS)};
#undef FABRICGAUGE_TRAITS

const Traits& traits_of(Pattern pattern) noexcept {
    return table[static_cast<std::size_t>(pattern)];
}

}  // namespace

const char* name_of(Pattern pattern) noexcept { return traits_of(pattern).name; }
Family family_of(Pattern pattern) noexcept { return traits_of(pattern).family; }
bool is_one_sided(Pattern pattern) noexcept { return traits_of(pattern).sides == Sides::one_sided; }
bool has_window(Pattern pattern) noexcept { return traits_of(pattern).sample == Sample::window; }
Abilities ability_for(Pattern pattern) noexcept { return traits_of(pattern).ability; }
bool is_threaded(Pattern pattern) noexcept {
    return pattern == Pattern::threads_latency || pattern == Pattern::threads_bandwidth;
}

std::optional<Pattern> pattern_named(std::string_view name) noexcept {
    for (std::size_t i = 0; i < std::size(table); ++i)
        if (name == table[i].name) return static_cast<Pattern>(i);
    return std::nullopt;
}

std::string all_pattern_names() {
    std::string names;
    for (const Traits& traits : table) names += (names.empty() ? "" : ", ") + std::string(traits.name);
    return names;
}

}  // namespace fabricgauge
