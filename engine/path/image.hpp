// The functions of one ELF file: from its symbol tables, its PLT, and its unwinding information.
//
// Static functions of a stripped file have no name. Where they begin is known all the same, from
// the table in .eh_frame_hdr (LSB Core 5.0, "Exception Frames"): they are called "+0x" and offset.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fabricgauge::path {

class Image {
public:
    // `file` is a 64-bit ELF file's content; what is no such file has no functions.
    Image(std::string name, std::string_view file);

    // The soname, else the name that was given.
    const std::string& name() const noexcept { return name_; }
    // The address in the file's own numbering of what lies at an offset of the file.
    std::uint64_t address_of(std::uint64_t file_offset) const noexcept;
    // The name of the function that an address is in.
    std::string function_at(std::uint64_t address) const;

private:
    struct Symbol {
        std::uint64_t end;
        std::string name;
    };
    struct Part {
        std::uint64_t offset, address, bytes;
    };

    void read_segments(std::string_view file);
    void read_sections(std::string_view file);
    void read_symbols(std::string_view file, std::uint64_t offset, std::uint64_t bytes,
                      std::string_view strings);
    void read_stubs(std::string_view file, std::uint64_t address, std::uint64_t offset,
                    std::uint64_t bytes);
    void read_starts(std::string_view file, const Part& table);

    std::string name_;
    std::vector<Part> parts_;
    std::map<std::uint64_t, Symbol> symbols_;  // by where they begin
    std::map<std::uint64_t, std::string> slots_;  // of the global offset table, by address
    std::vector<std::uint64_t> starts_;  // ascending
};

}  // namespace fabricgauge::path
