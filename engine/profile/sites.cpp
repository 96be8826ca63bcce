#include "sites.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace fabricgauge {
namespace {

struct Range {
    std::uint64_t first = 0, end = 0;
};

// Open MPI has up to four libraries for Fortran, MPICH and Intel MPI one.
constexpr std::size_t most_ranges = 8;
Range fortran[most_ranges];
std::size_t fortran_count = 0;

// Frames of MPI's Fortran that are looked through: mpi_f08 calls one function of it from another.
constexpr int deepest = 8;

bool is_fortran(std::uint64_t address) noexcept {
    return std::any_of(fortran, fortran + fortran_count, [=](const Range& range) {
        return range.first <= address && address < range.end;
    });
}

// libmpichfort, libmpifort (MPICH, Intel MPI); libmpi_mpifh, libmpi_usempi… (Open MPI).
bool is_fortran_library(const char* path) {
    const char* slash = std::strrchr(path, '/');
    const char* name = slash ? slash + 1 : path;
    return std::strncmp(name, "libmpi", 6) == 0 &&
           (std::strstr(name, "fort") || std::strstr(name, "mpifh") || std::strstr(name, "usempi"));
}

int add_range(dl_phdr_info* object, std::size_t, void*) {
    if (fortran_count == most_ranges || !is_fortran_library(object->dlpi_name)) return 0;
    Range& range = fortran[fortran_count++];
    for (int part = 0; part < object->dlpi_phnum; ++part) {
        const auto& segment = object->dlpi_phdr[part];
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
        range.first = object->dlpi_addr + segment.p_vaddr;
        range.end = range.first + segment.p_memsz;
    }
    return 0;
}

struct Walk {
    std::uint64_t begin, found;
    bool has_begun;
    int frames;
};

// The first frame outside of MPI's Fortran after the frame at `begin`.
_Unwind_Reason_Code look(_Unwind_Context* context, void* data) {
    auto& walk = *static_cast<Walk*>(data);
    const std::uint64_t address = _Unwind_GetIP(context);
    walk.has_begun |= address == walk.begin;
    if (!walk.has_begun) return _URC_NO_REASON;
    if (!is_fortran(address)) {
        walk.found = address;
        return _URC_END_OF_STACK;
    }
    return ++walk.frames < deepest ? _URC_NO_REASON : _URC_END_OF_STACK;
}

template <std::size_t room>
void copy(char (&to)[room], const char* text) noexcept {
    std::snprintf(to, room, "%s", text);
}

// Of a path that is too long its end is kept, which names the file.
template <std::size_t room>
void copy_end(char (&to)[room], const char* path) noexcept {
    const std::size_t length = std::strlen(path);
    copy(to, path + (length < room ? 0 : length + 1 - room));
}

// The path of a loaded file of which only the end is known.
std::string whole_path(const std::string& end) {
    struct Search {
        const std::string& end;
        std::string path;
    } search{end, end};
    dl_iterate_phdr([](dl_phdr_info* object, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        std::string path = object->dlpi_name;
        char own[PATH_MAX] = "";
        if (path.empty() && ::readlink("/proc/self/exe", own, sizeof own - 1) > 0) path = own;
        const std::size_t more = path.size() - std::min(path.size(), wanted.end.size());
        if (path.compare(more, std::string::npos, wanted.end) != 0) return 0;
        wanted.path = path;
        return 1;
    }, &search);
    return search.path;
}

template <std::size_t room>
void write_function(char (&to)[room], const char* mangled, std::uint64_t offset) {
    int status = -1;
    char* plain = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
    const std::string name = status == 0 && plain ? plain : mangled;
    std::free(plain);
    char place[24] = "";
    std::snprintf(place, sizeof place, "+0x%llx", static_cast<unsigned long long>(offset));
    const std::size_t most = room - 1 - std::strlen(place);
    copy(to, (name.substr(0, most) + place).c_str());
}

// A file's functions, from its table of symbols; none of a file that was stripped or is damaged.
class SymbolTable {
public:
    explicit SymbolTable(const char* path) {
        const int file = ::open(path, O_RDONLY | O_CLOEXEC);
        struct stat about{};
        if (file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
            length_ = static_cast<std::size_t>(about.st_size);
            void* memory = mmap(nullptr, length_, PROT_READ, MAP_PRIVATE, file, 0);
            if (memory != MAP_FAILED) content_ = static_cast<const char*>(memory);
        }
        if (file >= 0) ::close(file);
        if (content_) read();
    }
    ~SymbolTable() {
        if (content_) munmap(const_cast<char*>(content_), length_);
    }
    SymbolTable(const SymbolTable&) = delete;
    SymbolTable& operator=(const SymbolTable&) = delete;

    template <std::size_t room>
    void name(std::uint64_t address, char (&function)[room]) const {
        auto next = std::upper_bound(functions_.begin(), functions_.end(), address,
                                     [](std::uint64_t at, const Elf64_Sym& symbol) { return at < symbol.st_value; });
        if (next == functions_.begin()) return;
        const Elf64_Sym& symbol = *--next;
        const std::uint64_t offset = address - symbol.st_value;
        if (offset < symbol.st_size) write_function(function, names_ + symbol.st_name, offset);
    }

private:
    // Null if the file is too short for it.
    template <class Part>
    const Part* at(std::uint64_t place, std::uint64_t count = 1) const {
        const bool fits = place <= length_ && count <= (length_ - place) / sizeof(Part);
        return fits ? reinterpret_cast<const Part*>(content_ + place) : nullptr;
    }

    void read() {
        const auto* header = at<Elf64_Ehdr>(0);
        if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
            header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr))
            return;
        const auto* sections = at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
        for (int part = 0; sections && part < header->e_shnum; ++part) {
            const Elf64_Shdr& section = sections[part];
            if (section.sh_type == SHT_SYMTAB && section.sh_link < header->e_shnum)
                read_symbols(section, sections[section.sh_link]);
        }
        std::sort(functions_.begin(), functions_.end(), [](const Elf64_Sym& a, const Elf64_Sym& b) {
            return a.st_value < b.st_value;
        });
    }

    void read_symbols(const Elf64_Shdr& table, const Elf64_Shdr& text) {
        const std::uint64_t count = table.sh_size / sizeof(Elf64_Sym);
        const auto* symbols = at<Elf64_Sym>(table.sh_offset, count);
        names_ = at<char>(text.sh_offset, text.sh_size);
        if (!symbols || !names_ || text.sh_size == 0 || names_[text.sh_size - 1] != '\0') return;
        std::copy_if(symbols, symbols + count, std::back_inserter(functions_), [&](const Elf64_Sym& symbol) {
            return ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_value != 0 &&
                   symbol.st_name < text.sh_size;
        });
    }

    const char* content_ = nullptr;
    const char* names_ = nullptr;
    std::size_t length_ = 0;
    std::vector<Elf64_Sym> functions_;
};

}  // namespace

void know_fortran_libraries() {
    fortran_count = 0;
    dl_iterate_phdr(add_range, nullptr);
}

const void* call_in_program(const void* caller) noexcept {
    const auto address = reinterpret_cast<std::uint64_t>(caller);
    if (fortran_count == 0 || !is_fortran(address)) return caller;
    Walk walk{address, 0, false, 0};
    _Unwind_Backtrace(look, &walk);
    return walk.found ? reinterpret_cast<const void*>(walk.found) : caller;
}

void describe_site(Site& site, std::uint64_t address) noexcept {
    Dl_info about{};
    link_map* object = nullptr;
    site.address = address;
    if (dladdr1(reinterpret_cast<const void*>(address), &about, reinterpret_cast<void**>(&object),
                RTLD_DL_LINKMAP) == 0 || !object)
        return;
    site.address = address - object->l_addr;
    char own[PATH_MAX] = "";  // the program itself has no name
    if (!*object->l_name && ::readlink("/proc/self/exe", own, sizeof own - 1) < 0) return;
    copy_end(site.object, *object->l_name ? object->l_name : own);
    if (about.dli_sname)
        write_function(site.function, about.dli_sname,
                       address - reinterpret_cast<std::uint64_t>(about.dli_saddr));
}

void name_functions(Site* sites, std::size_t count) {
    std::map<std::string, std::vector<Site*>> by_object;
    for (Site* site = sites; site != sites + count; ++site)
        if (!*site->function && *site->object) by_object[site->object].push_back(site);
    for (const auto& [object, unnamed] : by_object) {
        const SymbolTable table(whole_path(object).c_str());
        for (Site* site : unnamed) table.name(site->address, site->function);
    }
}

}  // namespace fabricgauge
