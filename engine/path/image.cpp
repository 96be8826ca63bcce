#include "image.hpp"

#include <elf.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

namespace fabricgauge::path {

namespace {

// A copy of what lies at an offset; nothing where the file ends before it.
template <typename Value>
std::optional<Value> at(std::string_view file, std::uint64_t offset) {
    if (offset > file.size() || file.size() - offset < sizeof(Value)) return std::nullopt;
    Value value;
    std::memcpy(&value, file.data() + offset, sizeof value);
    return value;
}

std::string_view slice(std::string_view file, std::uint64_t offset, std::uint64_t bytes) {
    if (offset > file.size() || file.size() - offset < bytes) return {};
    return file.substr(offset, bytes);
}

std::string text_at(std::string_view strings, std::uint64_t offset) {
    if (offset >= strings.size()) return {};
    const std::string_view rest = strings.substr(offset);
    return std::string(rest.substr(0, rest.find('\0')));
}

std::optional<Elf64_Ehdr> header_of(std::string_view file) {
    const auto header = at<Elf64_Ehdr>(file, 0);
    const bool ours = header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                      header->e_ident[EI_CLASS] == ELFCLASS64;
    return ours ? header : std::nullopt;
}

// Of several names of one function the plainest: MPI_Send, not PMPI_Send; write, not __write.
bool plainer(const std::string& one, const std::string& other) {
    const auto rank = [](const std::string& name) {
        return std::make_pair(name.find_first_not_of('_'), name.size());
    };
    return rank(one) != rank(other) ? rank(one) < rank(other) : one < other;
}

std::string hexadecimal(std::uint64_t number) {
    char text[24];
    std::snprintf(text, sizeof text, "+0x%llx", static_cast<unsigned long long>(number));
    return text;
}

}  // namespace

Image::Image(std::string name, std::string_view file) : name_(std::move(name)) {
    read_segments(file);
    read_sections(file);
}

void Image::read_segments(std::string_view file) {
    const auto header = header_of(file);
    for (std::uint64_t i = 0; header && i < header->e_phnum; ++i) {
        const auto segment = at<Elf64_Phdr>(file, header->e_phoff + i * sizeof(Elf64_Phdr));
        if (!segment) return;
        const Part part{segment->p_offset, segment->p_vaddr, segment->p_filesz};
        if (segment->p_type == PT_LOAD) parts_.push_back(part);
        if (segment->p_type == PT_GNU_EH_FRAME) read_starts(file, part);
    }
}

void Image::read_sections(std::string_view file) {
    const auto header = header_of(file);
    if (!header) return;
    std::vector<Elf64_Shdr> sections;
    for (std::uint64_t i = 0; i < header->e_shnum; ++i)
        if (const auto one = at<Elf64_Shdr>(file, header->e_shoff + i * sizeof(Elf64_Shdr)))
            sections.push_back(*one);
    const auto content = [&](std::uint64_t i) {
        return i < sections.size() && sections[i].sh_type != SHT_NOBITS
                   ? slice(file, sections[i].sh_offset, sections[i].sh_size)
                   : std::string_view();
    };
    const std::string_view names = content(header->e_shstrndx);
    for (const Elf64_Shdr& one : sections) {
        const std::string_view strings = content(one.sh_link);
        if (one.sh_type == SHT_SYMTAB || one.sh_type == SHT_DYNSYM)
            read_symbols(file, one.sh_offset, one.sh_size, strings);
        if (one.sh_type == SHT_DYNAMIC)
            for (std::uint64_t at_byte = 0; at_byte < one.sh_size; at_byte += sizeof(Elf64_Dyn))
                if (const auto entry = at<Elf64_Dyn>(file, one.sh_offset + at_byte))
                    if (entry->d_tag == DT_SONAME) name_ = text_at(strings, entry->d_un.d_val);
        if (one.sh_type != SHT_RELA || one.sh_link >= sections.size()) continue;
        const Elf64_Shdr& symbols = sections[one.sh_link];
        for (std::uint64_t at_byte = 0; at_byte < one.sh_size; at_byte += sizeof(Elf64_Rela)) {
            const auto entry = at<Elf64_Rela>(file, one.sh_offset + at_byte);
            if (!entry || ELF64_R_SYM(entry->r_info) == 0) continue;
            const auto symbol = at<Elf64_Sym>(
                file, symbols.sh_offset + ELF64_R_SYM(entry->r_info) * sizeof(Elf64_Sym));
            if (symbol)
                slots_[entry->r_offset] = text_at(content(symbols.sh_link), symbol->st_name);
        }
    }
    for (const Elf64_Shdr& one : sections)
        if (text_at(names, one.sh_name).rfind(".plt", 0) == 0)
            read_stubs(file, one.sh_addr, one.sh_offset, one.sh_size);
}

void Image::read_symbols(std::string_view file, std::uint64_t offset, std::uint64_t bytes,
                         std::string_view strings) {
    for (std::uint64_t i = 0; i + sizeof(Elf64_Sym) <= bytes; i += sizeof(Elf64_Sym)) {
        const auto one = at<Elf64_Sym>(file, offset + i);
        if (!one) return;
        const int type = ELF64_ST_TYPE(one->st_info);
        const bool function = type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
        if (!function || one->st_shndx == SHN_UNDEF || one->st_size == 0) continue;
        const Symbol symbol{one->st_value + one->st_size, text_at(strings, one->st_name)};
        const auto [place, is_new] = symbols_.emplace(one->st_value, symbol);
        if (!is_new && plainer(symbol.name, place->second.name)) place->second = symbol;
    }
}

// Each stub of a PLT jumps through the slot of one function: FF 25 and a distance.
void Image::read_stubs(std::string_view file, std::uint64_t address, std::uint64_t offset,
                       std::uint64_t bytes) {
    const std::string_view code = slice(file, offset, bytes);
    constexpr std::uint64_t jump_bytes = 6;
    for (std::uint64_t i = 0; i + jump_bytes <= code.size(); ++i) {
        if (code[i] != '\xff' || code[i + 1] != '\x25') continue;
        const auto distance = at<std::int32_t>(code, i + 2);
        const std::uint64_t next = address + i + jump_bytes;
        const auto slot = slots_.find(next + static_cast<std::uint64_t>(std::int64_t{*distance}));
        if (slot == slots_.end()) continue;
        const std::uint64_t entry = bytes % 16 == 0 ? 16 : 8;
        const std::uint64_t begin = address + i / entry * entry;
        symbols_.emplace(begin, Symbol{begin + entry, slot->second + "@plt"});
    }
}

// The table of where functions begin; only the encodings that all x86-64 linkers write are read.
void Image::read_starts(std::string_view file, const Part& table) {
    constexpr std::uint8_t version = 1, count_encoding = 0x03, table_encoding = 0x3b;
    constexpr std::uint64_t head_bytes = 12, row_bytes = 8;
    const std::string_view content = slice(file, table.offset, table.bytes);
    const auto head = at<std::uint32_t>(content, 0);
    const auto count = at<std::uint32_t>(content, 8);
    if (!head || !count || (*head & 0xff) != version || (*head >> 16 & 0xff) != count_encoding ||
        *head >> 24 != table_encoding)
        return;
    for (std::uint64_t i = 0; i < *count; ++i) {
        const auto start = at<std::int32_t>(content, head_bytes + i * row_bytes);
        if (!start) return;
        starts_.push_back(table.address + static_cast<std::uint64_t>(std::int64_t{*start}));
    }
}

std::uint64_t Image::address_of(std::uint64_t file_offset) const noexcept {
    for (const Part& one : parts_)
        if (file_offset >= one.offset && file_offset - one.offset < one.bytes)
            return one.address + file_offset - one.offset;
    return file_offset;
}

std::string Image::function_at(std::uint64_t address) const {
    auto symbol = symbols_.upper_bound(address);
    if (symbol != symbols_.begin() && address < (--symbol)->second.end) return symbol->second.name;
    const auto start = std::upper_bound(starts_.begin(), starts_.end(), address);
    return hexadecimal(start == starts_.begin() ? address : *std::prev(start));
}

}  // namespace fabricgauge::path
