#include "fabricgauge/case_list.hpp"

#include <array>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "fabricgauge/number.hpp"

namespace fabricgauge {

namespace {

// MPI counts elements of a message in an int.
constexpr std::int64_t largest_message = 2'147'483'647;
constexpr std::int64_t largest_window = 65'536;
constexpr double longest_budget_s = 86'400.0;

constexpr int most_threads = 1024;
// Every round of a round robin of this many ranks fits.
constexpr std::int64_t most_ranks = 1 << 20;

constexpr std::array required = {"pattern", "bytes", "window", "origin", "target", "budget_s"};
constexpr std::array optional = {"ranks", "pairs", "concurrent", "rounds", "load", "epoch", "threads",
                                 "clock", "buffers"};
constexpr std::array loads = {Load::none, Load::all_to_all, Load::incast, Load::permutation};
constexpr std::array epochs = {Epoch::flush, Epoch::fence, Epoch::pscw};
constexpr std::array clocks = {ClockChoice::best, ClockChoice::synchronised, ClockChoice::barrier};
constexpr std::array buffer_uses = {Buffers::fewest, Buffers::single, Buffers::multiple};

using Fields = std::map<std::string, std::string>;

[[noreturn]] void fail(const std::string& what) { throw CaseListError(what); }

Pattern pattern_in(const Fields& fields) {
    const std::string& name = fields.at("pattern");
    if (const std::optional<Pattern> found = pattern_named(name)) return *found;
    fail("pattern=" + name + " is not known; expected one of " + all_pattern_names());
}

// The one of `known` that a key names; the first where the key is left out.
template <typename Known>
auto choice_in(const Fields& fields, const std::string& key, const Known& known) {
    const auto said = fields.find(key);
    if (said == fields.end()) return known.front();
    std::string names;
    for (const auto one : known) {
        if (said->second == name_of(one)) return one;
        names += (names.empty() ? "" : ", ") + std::string(name_of(one));
    }
    fail(key + "=" + said->second + " is not known; expected one of " + names);
}

std::int64_t whole_number_in(const Fields& fields, const std::string& key, std::int64_t least,
                             std::int64_t most) {
    const std::optional<std::int64_t> value = whole_number(fields.at(key));
    if (!value || *value < least || *value > most)
        fail(key + "=" + fields.at(key) + " is not understood; expected a whole number from " +
             std::to_string(least) + " to " + std::to_string(most));
    return *value;
}

int optional_number_in(const Fields& fields, const std::string& key, std::int64_t least,
                       std::int64_t most) {
    if (fields.count(key) == 0) return static_cast<int>(least);
    return static_cast<int>(whole_number_in(fields, key, least, most));
}

[[noreturn]] void fail_rounds(const std::string& text) {
    fail("rounds=" + text + " is not understood; expected ascending numbers and ranges like 0-3,8");
}

// "0-3,8" as 0, 1, 2, 3, 8.
std::vector<int> rounds_in(const Fields& fields) {
    std::vector<int> rounds;
    if (fields.count("rounds") == 0) return rounds;
    const std::string& text = fields.at("rounds");
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
        const std::size_t dash = part.find('-');
        const std::optional<std::int64_t> first = whole_number(part.substr(0, dash));
        const std::optional<std::int64_t> last =
            dash == std::string::npos ? first : whole_number(part.substr(dash + 1));
        const std::int64_t next = rounds.empty() ? 0 : rounds.back() + 1;
        if (!first || !last || *first < next || *last < *first || *last >= most_ranks)
            fail_rounds(text);
        for (std::int64_t round = *first; round <= *last; ++round)
            rounds.push_back(static_cast<int>(round));
    }
    if (rounds.empty() || text.back() == ',') fail_rounds(text);
    return rounds;
}

double budget_in(const Fields& fields) {
    const std::optional<double> value = real_number(fields.at("budget_s"));
    if (!value || *value <= 0.0 || *value > longest_budget_s)
        fail("budget_s=" + fields.at("budget_s") +
             " is not understood; expected seconds, more than 0 and at most 86400");
    return *value;
}

std::string all_keys() {
    std::string keys;
    for (const char* key : required) keys += std::string(keys.empty() ? "" : ", ") + key;
    for (const char* key : optional) keys += std::string(", ") + key;
    return keys;
}

Fields fields_in(std::istringstream& words) {
    Fields fields;
    std::set<std::string> known(required.begin(), required.end());
    known.insert(optional.begin(), optional.end());
    for (std::string word; words >> word;) {
        const std::size_t equals = word.find('=');
        const std::string key = word.substr(0, equals);
        if (equals == std::string::npos || known.count(key) == 0)
            fail("'" + word + "' is not understood; expected KEY=VALUE with one of the keys " +
                 all_keys());
        if (!fields.emplace(key, word.substr(equals + 1)).second) fail(key + " is given twice");
    }
    for (const char* key : required)
        if (fields.count(key) == 0) fail(std::string("the key ") + key + " is missing");
    return fields;
}

Case case_in(const std::string& line) {
    std::istringstream words(line);
    Case found{};
    words >> found.name;
    const Fields fields = fields_in(words);
    found.pattern = pattern_in(fields);
    found.message_bytes = whole_number_in(fields, "bytes", 0, largest_message);
    found.window = whole_number_in(fields, "window", 1, largest_window);
    found.origin = static_cast<int>(whole_number_in(fields, "origin", 0, largest_message));
    found.target = static_cast<int>(whole_number_in(fields, "target", 0, largest_message));
    found.budget_s = budget_in(fields);
    found.ranks = optional_number_in(fields, "ranks", 0, most_ranks);
    found.pairs = optional_number_in(fields, "pairs", 0, most_ranks);
    found.concurrent = optional_number_in(fields, "concurrent", 0, most_ranks);
    found.rounds = rounds_in(fields);
    found.load = choice_in(fields, "load", loads);
    found.epoch = choice_in(fields, "epoch", epochs);
    found.threads = optional_number_in(fields, "threads", 1, most_threads);
    found.clock = choice_in(fields, "clock", clocks);
    found.buffers = choice_in(fields, "buffers", buffer_uses);
    return found;
}

bool is_ignored(const std::string& line) {
    return line.find_first_not_of(" \t\r") == std::string::npos || line.front() == '#';
}

}  // namespace

const char* name_of(Load load) noexcept {
    switch (load) {
        case Load::none: return "none";
        case Load::all_to_all: return "all_to_all";
        case Load::incast: return "incast";
        case Load::permutation: return "permutation";
    }
    return "";
}

const char* name_of(Epoch epoch) noexcept {
    switch (epoch) {
        case Epoch::flush: return "flush";
        case Epoch::fence: return "fence";
        case Epoch::pscw: return "pscw";
    }
    return "";
}

const char* name_of(ClockChoice clock) noexcept {
    switch (clock) {
        case ClockChoice::best: return "best";
        case ClockChoice::synchronised: return "synchronised";
        case ClockChoice::barrier: return "barrier";
    }
    return "";
}

const char* name_of(Buffers buffers) noexcept {
    switch (buffers) {
        case Buffers::fewest: return "fewest";
        case Buffers::single: return "single";
        case Buffers::multiple: return "multiple";
    }
    return "";
}

std::string read_case_list(std::istream& input) {
    std::string text;
    for (std::string line; std::getline(input, line) && line != "end";) text += line + '\n';
    return text;
}

std::vector<Case> parse_case_list(const std::string& text) {
    std::vector<Case> cases;
    std::istringstream lines(text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        if (is_ignored(line)) continue;
        try {
            cases.push_back(case_in(line));
        } catch (const CaseListError& error) {
            throw CaseListError("line " + std::to_string(number) + ": " + error.what());
        }
    }
    return cases;
}

}  // namespace fabricgauge
