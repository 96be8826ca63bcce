#include "mpi_transport.hpp"

#include <cstdlib>

#include "fabricgauge/gathering.hpp"
#include "host.hpp"
#include "mpi_collectives.hpp"
#include "mpi_group.hpp"
#include "mpi_traffic.hpp"

namespace fabricgauge {

namespace {

constexpr double longest_finalize_s = 5.0;

}  // namespace

MpiSession::MpiSession(int* argc, char*** argv, bool thread_multiple) {
    // Otherwise not even FUNNELED: Open MPI 4.1 takes its locks at every level above SINGLE, which made a small
    // message over shared memory 45 % slower. So a process without this option has but one thread.
    int granted = MPI_THREAD_SINGLE;
    if (thread_multiple)
        MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &granted);
    else
        MPI_Init(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

// By now every record is written: a library that hangs here (MPICH 4.0 over UCX does so now and
// then) must not hold up the launcher.
MpiSession::~MpiSession() {
    Host::Watchdog watchdog;
    watchdog.prepare({status_, "", nullptr, ""});
    watchdog.arm(longest_finalize_s);
    MPI_Finalize();
    watchdog.disarm();
}

MpiVersion mpi_version() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    std::string library(text);
    library = library.substr(0, library.find_first_of("\r\n"));
    for (char& character : library)
        if (character == '\t') character = ' ';
    int major = 0;
    int minor = 0;
    MPI_Get_version(&major, &minor);
    return {library, std::to_string(major) + "." + std::to_string(minor)};
}

MpiTransport::MpiTransport() {
    require(MPI_Comm_rank(world(), &rank_), "MPI_Comm_rank");
    require(MPI_Comm_size(world(), &ranks_), "MPI_Comm_size");
}

std::string MpiTransport::thread_level() const {
    int level = MPI_THREAD_SINGLE;
    require(MPI_Query_thread(&level), "MPI_Query_thread");
    if (level == MPI_THREAD_MULTIPLE) return "MPI_THREAD_MULTIPLE";
    if (level == MPI_THREAD_SERIALIZED) return "MPI_THREAD_SERIALIZED";
    return level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED" : "MPI_THREAD_SINGLE";
}

void MpiTransport::discard(std::int64_t slots) {
    for (std::int64_t slot = 0; slot < slots; ++slot)
        require(MPI_Request_free(requests_.data() + slot), "MPI_Request_free");
}

void MpiTransport::send_control(const void* data, std::int64_t bytes, int peer) {
    require(MPI_Send(data, static_cast<int>(bytes), MPI_BYTE, peer, control_tag, world()), "MPI_Send");
}

void MpiTransport::receive_control(void* data, std::int64_t bytes, int peer) {
    require(MPI_Recv(data, static_cast<int>(bytes), MPI_BYTE, peer, control_tag, world(),
                     MPI_STATUS_IGNORE),
            "MPI_Recv");
}

bool MpiTransport::has_control(int peer) const {
    int found = 0;
    require(MPI_Iprobe(peer, control_tag, world(), &found, MPI_STATUS_IGNORE), "MPI_Iprobe");
    return found != 0;
}

void MpiTransport::barrier() { require(MPI_Barrier(world()), "MPI_Barrier"); }

std::vector<std::string> MpiTransport::gather(const std::string& text) {
    return gather_in(world(), text);
}

std::vector<std::string> MpiTransport::gather_in_communicator(const std::string& text) {
    return gather_in(communicator_, text);
}

std::vector<std::string> MpiTransport::gather_in(MPI_Comm communicator,
                                                 const std::string& text) const {
    const auto length = static_cast<std::int64_t>(text.size());
    std::int64_t longest = length;
    int members = 0;
    require(MPI_Comm_size(communicator, &members), "MPI_Comm_size");
    require(MPI_Allreduce(MPI_IN_PLACE, &longest, 1, MPI_INT64_T, MPI_MAX, communicator),
            "MPI_Allreduce");
    const std::size_t told = rank_ == 0 ? static_cast<std::size_t>(members) : 0;
    std::vector<std::int64_t> lengths(told);
    require(MPI_Gather(&length, 1, MPI_INT64_T, lengths.data(), 1, MPI_INT64_T, 0, communicator),
            "MPI_Gather");
    std::vector<std::string> texts(told);
    const GatherRounds plan = gather_rounds(longest, members);
    for (std::int64_t round = 0; round < plan.rounds; ++round) {
        std::vector<int> counts;
        for (const std::int64_t each : lengths) counts.push_back(plan.count(each, round));
        const std::vector<int> offsets = offsets_of(counts);
        std::string parts(static_cast<std::size_t>(offsets.back()), '\0');
        require(MPI_Gatherv(text.data() + plan.begin(length, round), plan.count(length, round),
                            MPI_CHAR, parts.data(), counts.data(), offsets.data(), MPI_CHAR, 0,
                            communicator),
                "MPI_Gatherv");
        for (std::size_t i = 0; i < told; ++i)
            texts[i].append(parts, static_cast<std::size_t>(offsets[i]),
                            static_cast<std::size_t>(counts[i]));
    }
    return texts;
}

void MpiTransport::broadcast(std::string& text) {
    auto length = static_cast<std::int64_t>(text.size());
    require(MPI_Bcast(&length, 1, MPI_INT64_T, 0, world()), "MPI_Bcast");
    text.resize(static_cast<std::size_t>(length));
    const GatherRounds plan = gather_rounds(length, 1);
    for (std::int64_t round = 0; round < plan.rounds; ++round)
        require(MPI_Bcast(text.data() + plan.begin(length, round), plan.count(length, round),
                          MPI_CHAR, 0, world()),
                "MPI_Bcast");
}

void MpiTransport::reserve(std::int64_t slots) {
    requests_.resize(static_cast<std::size_t>(slots), MPI_REQUEST_NULL);
}

void MpiTransport::open_communicator(int members) {
    if (members == ranks_) return;
    const int side = rank_ < members ? 0 : 1;
    require(MPI_Comm_split(world(), side, rank_, &communicator_), "MPI_Comm_split");
    require(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

void MpiTransport::close_communicator() {
    if (communicator_ != world()) require(MPI_Comm_free(&communicator_), "MPI_Comm_free");
    communicator_ = world();
}

void MpiTransport::quiet_barrier() {
    if constexpr (Host::simulated) {
        require(MPI_Barrier(communicator_), "MPI_Barrier");
    } else {
        MPI_Request request = MPI_REQUEST_NULL;
        require(MPI_Ibarrier(communicator_, &request), "MPI_Ibarrier");
        wait_quietly(request);
    }
}

void MpiTransport::broadcast_in_communicator(void* data, std::int64_t bytes) {
    require(MPI_Bcast(data, checked_count(bytes), MPI_BYTE, 0, communicator_), "MPI_Bcast");
}

void MpiTransport::minimum_in_communicator(std::int64_t* values, std::int64_t count) {
    require(MPI_Allreduce(MPI_IN_PLACE, values, checked_count(count), MPI_INT64_T, MPI_MIN,
                          communicator_),
            "MPI_Allreduce");
}

MpiCollectives MpiTransport::collectives(const CollectiveMemory& memory) const {
    return {communicator_, memory};
}

MpiGroup MpiTransport::form_group(bool inside) const { return {communicator_, inside}; }

MpiTraffic MpiTransport::traffic(int slots) const { return MpiTraffic(slots); }

void MpiTransport::release(int rank) {
    require(MPI_Send(nullptr, 0, MPI_BYTE, rank, release_tag, world()), "MPI_Send");
}

void MpiTransport::await_release(int from) {
    MPI_Request request = MPI_REQUEST_NULL;
    require(MPI_Irecv(nullptr, 0, MPI_BYTE, from, release_tag, world(), &request), "MPI_Irecv");
    wait_quietly(request);
}

void MpiTransport::wait_quietly(MPI_Request& request) {
    if constexpr (Host::simulated) {
        require(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    } else {
        for (int done = 0; done == 0;) {
            require(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
            if (done == 0) Host::nap();
        }
    }
}

void MpiTransport::abort(int status) {
    // A launcher may drop the ranks' last output when it aborts: give it time to read that first.
    if constexpr (!Host::simulated) {
        for (int naps = 0; naps < 200; ++naps) Host::nap();
    }
    MPI_Abort(MPI_COMM_WORLD, status);
    std::abort();
}

}  // namespace fabricgauge
