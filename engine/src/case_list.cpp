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

constexpr std::array patterns = {Pattern::latency, Pattern::bandwidth,
                                 Pattern::bidirectional_bandwidth, Pattern::put_latency,
                                 Pattern::put_bandwidth};
constexpr std::array keys = {"pattern", "bytes", "window", "origin", "target", "budget_s"};

using Fields = std::map<std::string, std::string>;

[[noreturn]] void fail(const std::string& what) { throw CaseListError(what); }

Pattern pattern_in(const Fields& fields) {
    std::string known;
    for (const Pattern pattern : patterns) {
        if (fields.at("pattern") == name_of(pattern)) return pattern;
        known += (known.empty() ? "" : ", ") + std::string(name_of(pattern));
    }
    fail("pattern=" + fields.at("pattern") + " is not known; expected one of " + known);
}

std::int64_t whole_number_in(const Fields& fields, const std::string& key, std::int64_t least,
                             std::int64_t most) {
    const std::optional<std::int64_t> value = whole_number(fields.at(key));
    if (!value || *value < least || *value > most)
        fail(key + "=" + fields.at(key) + " is not understood; expected a whole number from " +
             std::to_string(least) + " to " + std::to_string(most));
    return *value;
}

double budget_in(const Fields& fields) {
    const std::optional<double> value = real_number(fields.at("budget_s"));
    if (!value || *value <= 0.0 || *value > longest_budget_s)
        fail("budget_s=" + fields.at("budget_s") +
             " is not understood; expected seconds, more than 0 and at most 86400");
    return *value;
}

Fields fields_in(std::istringstream& words) {
    Fields fields;
    const std::set<std::string> known(keys.begin(), keys.end());
    for (std::string word; words >> word;) {
        const std::size_t equals = word.find('=');
        const std::string key = word.substr(0, equals);
        if (equals == std::string::npos || known.count(key) == 0)
            fail("'" + word +
                 "' is not understood; expected KEY=VALUE with one of the keys pattern, bytes, "
                 "window, origin, target, budget_s");
        if (!fields.emplace(key, word.substr(equals + 1)).second) fail(key + " is given twice");
    }
    for (const char* key : keys)
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
    return found;
}

bool is_ignored(const std::string& line) {
    return line.find_first_not_of(" \t\r") == std::string::npos || line.front() == '#';
}

}  // namespace

const char* name_of(Pattern pattern) noexcept {
    switch (pattern) {
        case Pattern::latency: return "latency";
        case Pattern::bandwidth: return "bandwidth";
        case Pattern::bidirectional_bandwidth: return "bidirectional_bandwidth";
        case Pattern::put_latency: return "put_latency";
        case Pattern::put_bandwidth: return "put_bandwidth";
    }
    return "";
}

bool is_one_sided(Pattern pattern) noexcept {
    return pattern == Pattern::put_latency || pattern == Pattern::put_bandwidth;
}

bool has_window(Pattern pattern) noexcept {
    return pattern != Pattern::latency && pattern != Pattern::put_latency;
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
