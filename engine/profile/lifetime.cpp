// From MPI_Init to MPI_Finalize: what is known of a program's ranks, and the one file that is left.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "groups.hpp"
#include "recorder.hpp"
#include "sites.hpp"
#include "weak.hpp"

namespace fabricgauge {
namespace {

// MPICH's MPI_MAX_LIBRARY_VERSION_STRING, the longest: another MPI than this one may fill it.
constexpr std::size_t longest_version = 8192;
static_assert(longest_version >= MPI_MAX_LIBRARY_VERSION_STRING);

constexpr std::uint32_t ended_well = 1, ended_by_abort = 2;

// Whether the program's MPI is the one that this library was built for; all ranks agree.
bool is_ours = false;

const char* folder() {
    const char* said = std::getenv("FABRICGAUGE_PROFILE");
    return said ? said : "";
}

// Handles of one MPI mean nothing to another: the wrong library records nothing and harms nothing.
bool is_of_this_mpi(char* version) {
    int length = 0;
    PMPI_Get_library_version(version, &length);
#ifdef OPEN_MPI
    return std::strstr(version, "Open MPI") != nullptr;
#else
    return std::strstr(version, "Open MPI") == nullptr;
#endif
}

void begin(bool threaded) {
    char version[longest_version] = "";
    if (!is_of_this_mpi(version)) {
        std::fprintf(stderr, "fabricgauge-profile: nothing is recorded: it was built for another MPI"
                             " than %.60s; name the program's with --mpi\n", version);
        return;
    }
    is_ours = true;
    int rank = 0, size = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    know_nodes();
    know_fortran_libraries();
    recorder.open(folder(), static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(size),
                  threaded, call_names());
    if (!recorder.is_open()) return;
    ProfileHeader& header = recorder.header();
    header.node = own_node();
    header.overhead_ps = recorder.overhead_ps();
    std::snprintf(header.library, sizeof header.library, "%s", version);
}

template <class Value>
void append(std::vector<char>& to, const Value& value) {
    const char* first = reinterpret_cast<const char*>(&value);
    to.insert(to.end(), first, first + sizeof value);
}

// The header with what there is, without what is empty; the names of calls from one rank alone.
std::vector<char> compact(bool with_names) {
    ProfileHeader& header = recorder.header();
    const std::string names = with_names ? call_names() : "";
    std::vector<char> cells, sites, peers, whole;
    for (std::uint32_t place = 0; place < most_cells; ++place)
        if (recorder.cells()[place].key) append(cells, recorder.cells()[place]);
    for (std::uint32_t place = 0; place < most_sites; ++place)
        if (recorder.sites()[place].key) append(sites, recorder.sites()[place]);
    for (std::uint32_t rank = 0; rank < header.size; ++rank)
        if (recorder.peers()[rank].messages) append(peers, recorder.peers()[rank]);
    append(whole, header);
    auto& own = *reinterpret_cast<ProfileHeader*>(whole.data());
    own.cells = static_cast<std::uint32_t>(cells.size() / sizeof(Cell));
    own.sites = static_cast<std::uint32_t>(sites.size() / sizeof(Site));
    own.peers = static_cast<std::uint32_t>(peers.size() / sizeof(Peer));
    own.names_bytes = static_cast<std::uint32_t>(names.size());
    for (const auto* part : {&cells, &sites, &peers}) whole.insert(whole.end(), part->begin(), part->end());
    whole.insert(whole.end(), names.begin(), names.end());
    return whole;
}

// Names the functions of all ranks' sites: one rank reads each object's symbols once.
void name_sites(std::vector<char>& whole) {
    std::vector<char> sites;
    std::size_t place = 0;
    std::vector<std::pair<std::size_t, std::size_t>> where;
    while (place < whole.size()) {
        alignas(ProfileHeader) char own[sizeof(ProfileHeader)];  // a part may begin at any byte
        std::memcpy(own, whole.data() + place, sizeof own);
        const auto& header = *reinterpret_cast<const ProfileHeader*>(own);
        const std::size_t begin = place + sizeof own + header.cells * sizeof(Cell);
        const std::size_t length = header.sites * sizeof(Site);
        sites.insert(sites.end(), whole.data() + begin, whole.data() + begin + length);
        where.emplace_back(begin, length);
        place = begin + length + header.peers * sizeof(Peer) + header.names_bytes;
    }
    name_functions(reinterpret_cast<Site*>(sites.data()), sites.size() / sizeof(Site));
    const char* next = sites.data();
    for (const auto& [begin, length] : where) {
        std::copy(next, next + length, whole.data() + begin);
        next += length;
    }
}

bool write_file(const std::vector<char>& content) {
    const ProfileHeader& header = recorder.header();
    const std::string path =
        std::string(folder()) + "/" + header.host + "." + std::to_string(header.pid) + ".profile";
    const std::string partial = path + ".partial";
    std::FILE* file = *folder() ? std::fopen(partial.c_str(), "wbx") : nullptr;
    if (!file) return false;
    const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
    if (std::fclose(file) == 0 && written && std::rename(partial.c_str(), path.c_str()) == 0)
        return true;
    unlink(partial.c_str());
    return false;
}

// All ranks' records into one file. Where that fails each rank's own file stays.
void gather() {
    if (!is_ours) return;
    int all = recorder.is_open();
    PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (recorder.is_open()) recorder.end();
    if (!all) return;
    ProfileHeader& header = recorder.header();
    // MPICH 5 may return from MPI_Abort, and the launcher's kill comes later.
    if (header.finalized != ended_by_abort) header.finalized = ended_well;
    const std::vector<char> own = compact(header.rank == 0);
    const int length = static_cast<int>(own.size());
    std::vector<int> lengths(header.size), places(header.size);
    PMPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    int fits = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}) <= INT_MAX;
    PMPI_Bcast(&fits, 1, MPI_INT, 0, MPI_COMM_WORLD);
    int kept = 0;
    if (fits) {
        std::exclusive_scan(lengths.begin(), lengths.end(), places.begin(), 0);
        std::vector<char> whole(
            header.rank == 0 ? static_cast<std::size_t>(places.back() + lengths.back()) : 0);
        PMPI_Gatherv(own.data(), length, MPI_BYTE, whole.data(), lengths.data(), places.data(),
                     MPI_BYTE, 0, MPI_COMM_WORLD);
        if (header.rank == 0) {
            name_sites(whole);
            kept = write_file(whole);
        }
        if (header.rank == 0 && !kept)
            std::fprintf(stderr, "fabricgauge-profile: the profile cannot be written to %s: %s\n",
                         folder(), std::strerror(errno));
        PMPI_Bcast(&kept, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    recorder.close(kept != 0);
}

void aborting() {
    if (recorder.is_open()) recorder.header().finalized = ended_by_abort;
}

}  // namespace
}  // namespace fabricgauge

extern "C" int MPI_Init(int* argc, char*** argv) {
    const int status = PMPI_Init(argc, argv);
    if (status == MPI_SUCCESS) fabricgauge::begin(false);
    return status;
}

extern "C" int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    const int status = PMPI_Init_thread(argc, argv, required, provided);
    if (status == MPI_SUCCESS) fabricgauge::begin(*provided == MPI_THREAD_MULTIPLE);
    return status;
}

extern "C" int MPI_Finalize() {
    fabricgauge::gather();
    return PMPI_Finalize();
}

extern "C" int MPI_Abort(MPI_Comm communicator, int code) {
    fabricgauge::aborting();
    return PMPI_Abort(communicator, code);
}

extern "C" int MPI_Pcontrol(const int level, ...) {
    fabricgauge::recorder.enter_region(level);
    return MPI_SUCCESS;
}

#ifdef FABRICGAUGE_FORTRAN
#ifdef OPEN_MPI
#define IN_FORTRAN(name) mpi_##name##_
#define REAL(name) pmpi_##name##_
#else
#define IN_FORTRAN(name) mpi_##name##_f08_
#define REAL(name) pmpir_##name##_f08_
#endif

extern "C" {
void REAL(init)(MPI_Fint*) __attribute__((weak));
void REAL(init_thread)(MPI_Fint*, MPI_Fint*, MPI_Fint*) __attribute__((weak));
void REAL(finalize)(MPI_Fint*) __attribute__((weak));
void REAL(abort)(MPI_Fint*, MPI_Fint*, MPI_Fint*) __attribute__((weak));

void IN_FORTRAN(init)(MPI_Fint* error) {
    REAL(init)(error);
    if (!error || *error == MPI_SUCCESS) fabricgauge::begin(false);
}
void IN_FORTRAN(init_thread)(MPI_Fint* required, MPI_Fint* provided, MPI_Fint* error) {
    REAL(init_thread)(required, provided, error);
    if (!error || *error == MPI_SUCCESS) fabricgauge::begin(*provided == MPI_THREAD_MULTIPLE);
}
void IN_FORTRAN(finalize)(MPI_Fint* error) {
    fabricgauge::gather();
    REAL(finalize)(error);
}
void IN_FORTRAN(abort)(MPI_Fint* communicator, MPI_Fint* code, MPI_Fint* error) {
    fabricgauge::aborting();
    REAL(abort)(communicator, code, error);
}
void IN_FORTRAN(pcontrol)(MPI_Fint* level) { fabricgauge::recorder.enter_region(*level); }

#ifdef OPEN_MPI
void ompi_init_f(MPI_Fint*) __attribute__((alias("mpi_init_")));
void ompi_init_thread_f(MPI_Fint*, MPI_Fint*, MPI_Fint*) __attribute__((alias("mpi_init_thread_")));
void ompi_finalize_f(MPI_Fint*) __attribute__((alias("mpi_finalize_")));
void ompi_abort_f(MPI_Fint*, MPI_Fint*, MPI_Fint*) __attribute__((alias("mpi_abort_")));
void ompi_pcontrol_f(MPI_Fint*) __attribute__((alias("mpi_pcontrol_")));
#endif
}
#endif
