// Finds the function, and its object, that an address of a traced process is in.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "image.hpp"
#include "tracee.hpp"

namespace fabricgauge::path {

struct Function {
    std::string object;
    std::string name;
};

class Symbols {
public:
    explicit Symbols(const Tracee& tracee) : tracee_(tracee) {}

    // The number of the function, new or known.
    std::size_t function_at(std::uint64_t address);
    const Function& function(std::size_t number) const { return functions_[number]; }

private:
    struct Mapping {
        std::uint64_t begin, end, offset;
        std::string path;
    };

    const Mapping* mapping_of(std::uint64_t address);
    void read_mappings();
    const Image& image_of(const Mapping& mapping);

    const Tracee& tracee_;
    std::vector<Mapping> mappings_;
    std::map<std::string, std::unique_ptr<Image>> images_;
    std::vector<Function> functions_;
    std::map<std::pair<std::string, std::string>, std::size_t> numbers_;
};

}  // namespace fabricgauge::path
