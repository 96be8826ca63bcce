#include "symbols.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

namespace fabricgauge::path {

namespace {

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::size_t Symbols::function_at(std::uint64_t address) {
    const Mapping* mapping = mapping_of(address);
    Function found{"(no file)", "(unknown)"};
    if (mapping != nullptr && !mapping->path.empty()) {
        const Image& image = image_of(*mapping);
        const std::uint64_t own = image.address_of(address - mapping->begin + mapping->offset);
        found = {image.name(), image.function_at(own)};
    }
    const auto [place, is_new] = numbers_.emplace(std::make_pair(found.object, found.name),
                                                  functions_.size());
    if (is_new) functions_.push_back(found);
    return place->second;
}

// A library may have been loaded since the last look.
const Symbols::Mapping* Symbols::mapping_of(std::uint64_t address) {
    for (const bool again : {false, true}) {
        if (again) read_mappings();
        for (const Mapping& one : mappings_)
            if (address >= one.begin && address < one.end) return &one;
    }
    return nullptr;
}

// Executable mappings only; the format is that of proc(5).
void Symbols::read_mappings() {
    mappings_.clear();
    std::ifstream file("/proc/" + std::to_string(tracee_.pid()) + "/maps");
    for (std::string line; std::getline(file, line);) {
        unsigned long long begin = 0, end = 0, offset = 0;
        char rights[5] = "";
        int path_at = 0;
        if (std::sscanf(line.c_str(), "%llx-%llx %4s %llx %*s %*s %n", &begin, &end, rights,
                        &offset, &path_at) >= 4 && rights[2] == 'x')
            mappings_.push_back({begin, end, offset, line.substr(path_at)});
    }
}

const Image& Symbols::image_of(const Mapping& mapping) {
    std::unique_ptr<Image>& image = images_[mapping.path];
    if (image) return *image;
    std::string content;
    if (mapping.path.front() == '[') {  // the kernel's own: it is in memory only
        content.resize(mapping.end - mapping.begin);
        content.resize(tracee_.read(mapping.begin, content.data(), content.size()));
    } else {
        content = content_of(mapping.path);
    }
    image = std::make_unique<Image>(last_part(mapping.path), content);
    return *image;
}

}  // namespace fabricgauge::path
