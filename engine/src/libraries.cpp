#include "fabricgauge/libraries.hpp"

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace fabricgauge {

namespace {

bool is_library(const std::string& path) {
    const std::size_t at = path.rfind(".so");
    if (path.empty() || path[0] != '/' || at == std::string::npos) return false;
    const std::size_t end = at + 3;
    return end == path.size() || path[end] == '.';
}

}  // namespace

std::vector<std::string> libraries_in(const std::string& maps) {
    std::set<std::string> found;
    std::istringstream lines(maps);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t begin = line.find('/');
        if (begin == std::string::npos) continue;
        const std::string path = line.substr(begin);
        if (is_library(path)) found.insert(path);
    }
    return {found.begin(), found.end()};
}

std::vector<std::string> loaded_libraries() {
    std::ifstream file("/proc/self/maps");
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    return libraries_in(text);
}

}  // namespace fabricgauge
