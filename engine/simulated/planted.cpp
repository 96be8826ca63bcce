#include "planted.hpp"

#include <functional>
#include <map>
#include <sstream>

namespace fabricgauge::simulated {

namespace {

template <typename Value>
Value next(std::istringstream& words, const char* what) {
    Value value;
    if (!(words >> value)) throw PlantedError(std::string("expected ") + what);
    return value;
}

Way next_way(std::istringstream& words) {
    const auto word = next<std::string>(words, "out or in");
    if (word == "out") return Way::out;
    if (word == "in") return Way::in;
    throw PlantedError("expected out or in, not " + word);
}

std::string rest(std::istringstream& words) {
    std::string text;
    std::getline(words >> std::ws, text);
    if (text.empty()) throw PlantedError("expected a path");
    return text;
}

std::vector<std::string> all_words(std::istringstream& words) {
    std::vector<std::string> found;
    for (std::string word; words >> word;) found.push_back(word);
    if (found.empty()) throw PlantedError("expected nodes");
    return found;
}

// Members of a braced list are evaluated in their order, so each takes the next word.
using Reader = std::function<void(std::istringstream&, Planted&)>;

const std::map<std::string, Reader>& readers() {
    static const std::map<std::string, Reader> rows{
        {"platform", [](auto& words, Planted& into) { into.platform = rest(words); }},
        {"seed", [](auto& words, Planted& into) { into.seed = next<std::uint64_t>(words, "a seed"); }},
        {"deviation",
         [](auto& words, Planted& into) { into.deviation = next<double>(words, "a deviation"); }},
        {"overhead",
         [](auto& words, Planted& into) { into.overhead_s = next<double>(words, "seconds"); }},
        {"rate",
         [](auto& words, Planted& into) {
             into.rates.push_back({next_way(words), next<std::string>(words, "a node"),
                                   next<double>(words, "a factor")});
         }},
        {"latency",
         [](auto& words, Planted& into) {
             into.latencies.push_back({next_way(words), next<std::string>(words, "a node"),
                                       next<double>(words, "seconds")});
         }},
        {"flap",
         [](auto& words, Planted& into) {
             into.flapping.push_back(
                 {next<std::string>(words, "a node"), next<double>(words, "a factor"),
                  next<double>(words, "a period"), next<double>(words, "a share")});
         }},
        {"uplink",
         [](auto& words, Planted& into) {
             into.uplinks.push_back({next_way(words), next<int>(words, "an index"),
                                     next<double>(words, "a factor"), all_words(words)});
         }},
        {"pair",
         [](auto& words, Planted& into) {
             into.pairs.push_back({next<std::string>(words, "a source"),
                                   next<std::string>(words, "a destination"),
                                   next<double>(words, "a factor")});
         }},
        {"noise",
         [](auto& words, Planted& into) {
             into.noisy.push_back({next<std::string>(words, "a node"),
                                   next<double>(words, "a deviation")});
         }},
    };
    return rows;
}

void read_line(const std::string& line, Planted& into) {
    std::istringstream words(line);
    const auto keyword = next<std::string>(words, "a keyword");
    const auto row = readers().find(keyword);
    if (row == readers().end()) throw PlantedError("unknown keyword " + keyword);
    row->second(words, into);
    if (std::string word; words >> word) throw PlantedError("nothing was expected at " + word);
}

}  // namespace

Planted read_planted(std::istream& input) {
    Planted found;
    int number = 0;
    for (std::string line; std::getline(input, line);) {
        ++number;
        try {
            read_line(line, found);
        } catch (const PlantedError& error) {
            throw PlantedError("line " + std::to_string(number) + ": " + error.what());
        }
    }
    if (found.platform.empty()) throw PlantedError("it names no platform");
    return found;
}

}  // namespace fabricgauge::simulated
