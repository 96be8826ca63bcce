// fabricgauge-path-calls OPERATION SIZES WARM-UP CALLS [OPTION]...
//
// Makes one kind of call on rank 0, with others as its partners: once cold, then WARM-UP times
// unwatched, then CALLS times. Each call begins once all that it needs has arrived, so that what
// is traced is the library's own path: the partners are done, then rank 0 waits. Options are those
// of the engine that say what carries messages, and where.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include "calls.hpp"
#include "fabricgauge/exit_status.hpp"
#include "fabricgauge/json.hpp"

namespace fabricgauge::path {

void tell(int rank, int tag) { MPI_Send(nullptr, 0, MPI_BYTE, rank, tag, MPI_COMM_WORLD); }

void hear(int rank, int tag) {
    MPI_Recv(nullptr, 0, MPI_BYTE, rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void wait_for_arrival() { usleep(20'000); }
void nothing(Call&) {}
void go_and_wait(Call& call) {
    for (int rank = 1; rank < call.ranks; ++rank) tell(rank, go_tag);
    wait_for_arrival();
}

namespace {

Layer layer_of(const Options& options, Call& call, const std::string& name) {
    if (options.transport == Carrier::mpi) return mpi_layer(call, name);
    if (call.ranks != 2) throw std::invalid_argument(name + " is a call between two ranks");
    if (options.transport == Carrier::ofi) return ofi_layer(call, options.ofi, pin(options.pin));
    if (options.transport == Carrier::verbs) return verbs_layer(call, options.verbs);
    throw OptionsError(std::string("no calls of ") + name_of(options.transport) + " can be traced");
}

const Operation& named(const Layer& layer, const std::string& name) {
    for (const Operation& one : layer.operations)
        if (name == one.name) return one;
    throw std::invalid_argument("no operation " + name);
}

std::vector<int> sizes_of(const std::string& text) {
    std::vector<int> sizes;
    std::istringstream list(text);
    for (std::string one; std::getline(list, one, ',');) sizes.push_back(std::stoi(one));
    return sizes;
}

void make(const Operation& operation, Call& call, Mark* marked) {
    if (call.rank != 0) return operation.partner(call);
    operation.prepare(call);
    if (marked != nullptr) mark(marked);
    operation.traced(call);
    if (marked != nullptr) mark(nullptr);
    operation.finish(call);
}

bool is_traced(const Call& call) {
    return call.rank == 0 && std::getenv(traced_variable) != nullptr;
}

// `number` goes on over all sizes: only the first call of all is cold.
void make_all(const Operation& operation, Call& call, int warm_up, int calls,
              std::int64_t& number) {
    Mark described{{}, call.count, 0, {operation.functions[0], operation.functions[1]}};
    std::strncpy(described.operation, operation.name.c_str(), sizeof described.operation - 1);
    const bool traced = is_traced(call);
    const int cold = number == 0 ? 1 : 0;
    for (int i = 0; i < cold + warm_up + calls; ++i) {
        const bool unwatched = i >= cold && i < cold + warm_up;
        described.number = number;
        make(operation, call, traced && !unwatched ? &described : nullptr);
        if (!unwatched) ++number;
    }
}

void describe(const Layer& layer) {
    JsonWriter json;
    json.begin_object().member("record", "carrier").member("description", layer.description);
    std::printf("%s\n", json.end_object().text().c_str());
    std::fflush(stdout);
}

void run(const std::vector<std::string>& words) {
    const std::vector<int> sizes = sizes_of(words.at(1));
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks < 2) throw std::invalid_argument("a call needs two ranks at least");
    const int largest = std::max(1, *std::max_element(sizes.begin(), sizes.end()));
    Call call(static_cast<std::size_t>(largest), rank, ranks);
    const Options options = parse_options({words.begin() + 4, words.end()});
    const Layer layer = layer_of(options, call, words[0]);
    const Operation& operation = named(layer, words[0]);
    if (is_traced(call)) describe(layer);
    std::int64_t number = 0;
    for (const int size : sizes) {
        call.count = size;
        MPI_Barrier(MPI_COMM_WORLD);
        make_all(operation, call, std::stoi(words[2]), std::stoi(words[3]), number);
    }
    const Mark last{{}, 0, finished, {nullptr, nullptr}};
    if (is_traced(call)) mark(&last);
    MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

}  // namespace fabricgauge::path

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int status = 0;
    try {
        const std::vector<std::string> words(argv + 1, argv + argc);
        if (words.size() < 4) throw std::invalid_argument("OPERATION SIZES WARM-UP CALLS");
        fabricgauge::path::run(words);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "fabricgauge-path: %s\n", error.what());
        status = fabricgauge::exit_options;
        usleep(200'000);  // a launcher that is told to abort may drop what was said last
        MPI_Abort(MPI_COMM_WORLD, status);
    }
    MPI_Finalize();
    return status;
}
