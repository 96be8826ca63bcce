// Collectives of NCCL, out of place, in the columns of nccl-tests: collectives RANKS COLLECTIVE SECONDS SIZE…
//
// Each rank is a process of its own, made by fork, with GPU 0. Several ranks on one GPU work only if
// NCCL takes them for ranks of different nodes (NCCL_HOSTID, set here for each rank); then their bytes
// go over NCCL's network. PROOF_SAME_HOST leaves that out, to see how NCCL refuses it. No part of
// nccl-tests is used. Interfaces: nccl.h of NCCL 2.19 and cuda.h 12.4.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cuda.hpp"

namespace {

constexpr int float32 = 7, sum = 0;  // ncclFloat32, ncclSum
constexpr int warm_up = 3, fewest = 5, most = 200;

struct Identity {
    char bytes[128];  // NCCL_UNIQUE_ID_BYTES
};

struct Nccl {
    explicit Nccl(const char* path) : library(path) {
        library.bind(version, "ncclGetVersion");
        library.bind(identity, "ncclGetUniqueId");
        library.bind(start, "ncclCommInitRank");
        library.bind(finish, "ncclCommDestroy");
        library.bind(words, "ncclGetErrorString");
        library.bind(all_reduce, "ncclAllReduce");
        library.bind(broadcast, "ncclBroadcast");
        library.bind(reduce, "ncclReduce");
        library.bind(all_gather, "ncclAllGather");
        library.bind(reduce_scatter, "ncclReduceScatter");
        library.bind(send, "ncclSend");
        library.bind(receive, "ncclRecv");
        library.bind(group_start, "ncclGroupStart");
        library.bind(group_end, "ncclGroupEnd");
    }

    // The line has nccl-tests' form, so that the reader of such logs says what it means.
    void require(int result, const char* call) const {
        if (result == 0) return;
        char host[256] = "";
        gethostname(host, sizeof host - 1);
        std::printf("%s: Test NCCL failure %s:%d '%s'\n", host, call, result, words(result));
        std::fflush(stdout);
        _exit(3);
    }

    proof::Library library;
    int (*version)(int*) = nullptr;
    int (*identity)(Identity*) = nullptr;
    int (*start)(void**, int, Identity, int) = nullptr;
    int (*finish)(void*) = nullptr;
    const char* (*words)(int) = nullptr;
    int (*all_reduce)(const void*, void*, std::size_t, int, int, void*, void*) = nullptr;
    int (*broadcast)(const void*, void*, std::size_t, int, int, void*, void*) = nullptr;
    int (*reduce)(const void*, void*, std::size_t, int, int, int, void*, void*) = nullptr;
    int (*all_gather)(const void*, void*, std::size_t, int, void*, void*) = nullptr;
    int (*reduce_scatter)(const void*, void*, std::size_t, int, int, void*, void*) = nullptr;
    int (*send)(const void*, std::size_t, int, int, void*, void*) = nullptr;
    int (*receive)(void*, std::size_t, int, int, void*, void*) = nullptr;
    int (*group_start)() = nullptr;
    int (*group_end)() = nullptr;
};

struct Collective {
    const char* name;
    const char* operation;
    int root;
    // The factor of nccl-tests' doc/PERFORMANCE.md for n ranks, times n.
    int (*factor_times_ranks)(int ranks);
};

const Collective collectives[] = {
    {"all_reduce", "sum", -1, [](int ranks) { return 2 * (ranks - 1); }},
    {"all_gather", "none", -1, [](int ranks) { return ranks - 1; }},
    {"reduce_scatter", "sum", -1, [](int ranks) { return ranks - 1; }},
    {"broadcast", "none", 0, [](int ranks) { return ranks; }},
    {"reduce", "sum", 0, [](int ranks) { return ranks; }},
    {"sendrecv", "sum", -1, [](int ranks) { return ranks; }},
};

const char* nccl_path() {
    const char* const given = std::getenv("PROOF_NCCL");
    return given != nullptr ? given : "libnccl.so.2";
}

class Rank {
public:
    Rank(int rank, int ranks, const Identity& identity)
        : rank_(rank), ranks_(ranks), gpu_(0), nccl_(nccl_path()) {
        int (*create)(void**, unsigned) = nullptr;
        gpu_.library().bind(create, "cuStreamCreate");
        gpu_.library().bind(synchronise_, "cuStreamSynchronize");
        proof::Gpu::require(create(&stream_, 1), "cuStreamCreate");
        nccl_.require(nccl_.start(&communicator_, ranks, identity, rank), "ncclCommInitRank");
    }

    ~Rank() { nccl_.finish(communicator_); }

    const std::string& device() const { return gpu_.name(); }

    void summarise() const {
        double total = 0;
        for (const double rate : bus_rates_) total += rate;
        std::printf("# Out of bounds values : %zu %s\n# Avg bus bandwidth    : %g\n", wrong_,
                    wrong_ == 0 ? "OK" : "FAILED", total / static_cast<double>(bus_rates_.size()));
        std::fflush(stdout);
    }

    void run(const Collective& what, double seconds, std::size_t bytes) {
        const std::size_t elements = bytes / 4;
        const proof::Pointer from = gpu_.allocate(bytes + 4), to = gpu_.allocate(bytes + 4);
        const std::vector<float> ones(elements, 1.0F);
        gpu_.to_device(from, ones.data(), bytes);
        const double us = time(what, from, to, elements, seconds);
        const double rate = us > 0 ? static_cast<double>(bytes) / us / 1e3 : 0;
        const double bus = rate * what.factor_times_ranks(ranks_) / ranks_;
        const std::size_t wrong = compare(what, from, to, elements);
        std::printf("%12zu  %12zu     float  %6s %7d  %7.2f  %6.2f  %6.2f  %5zu", bytes, elements,
                    what.operation, what.root, us, rate, bus, wrong);
        wrong_ += wrong;
        bus_rates_.push_back(bus);
        std::printf("\n");
        std::fflush(stdout);
    }

private:
    void call(const Collective& what, proof::Pointer from, proof::Pointer to, std::size_t elements) {
        const void* const source = reinterpret_cast<const void*>(from);
        void* const target = reinterpret_cast<void*>(to);
        const std::string name = what.name;
        const auto part = elements / static_cast<std::size_t>(ranks_);
        int result = 0;
        if (name == "all_reduce") result = nccl_.all_reduce(source, target, elements, float32, sum, communicator_, stream_);
        else if (name == "all_gather") result = nccl_.all_gather(source, target, part, float32, communicator_, stream_);
        else if (name == "reduce_scatter") result = nccl_.reduce_scatter(source, target, part, float32, sum, communicator_, stream_);
        else if (name == "broadcast") result = nccl_.broadcast(source, target, elements, float32, 0, communicator_, stream_);
        else if (name == "reduce") result = nccl_.reduce(source, target, elements, float32, sum, 0, communicator_, stream_);
        else {
            nccl_.require(nccl_.group_start(), "ncclGroupStart");
            result = nccl_.send(source, elements, float32, (rank_ + 1) % ranks_, communicator_, stream_);
            nccl_.require(result, "ncclSend");
            nccl_.require(nccl_.receive(target, elements, float32, (rank_ + ranks_ - 1) % ranks_, communicator_, stream_), "ncclRecv");
            result = nccl_.group_end();
        }
        nccl_.require(result, what.name);
    }

    double time(const Collective& what, proof::Pointer from, proof::Pointer to, std::size_t elements, double seconds) {
        using Clock = std::chrono::steady_clock;
        const auto repeat = [&](int times) {
            const auto begin = Clock::now();
            for (int turn = 0; turn < times; ++turn) call(what, from, to, elements);
            proof::Gpu::require(synchronise_(stream_), "cuStreamSynchronize");
            return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / times;
        };
        repeat(warm_up);
        // Every rank must make as many calls: the number follows from the size alone.
        const double guess_s = 50e-6 + static_cast<double>(elements) * 4 / 1e9;
        return repeat(std::clamp(static_cast<int>(seconds / guess_s), fewest, most));
    }

    // The elements that are not what ranks of ones give.
    std::size_t compare(const Collective& what, proof::Pointer from, proof::Pointer to, std::size_t elements) {
        gpu_.fill(to, 0, elements * 4);
        call(what, from, to, elements);
        proof::Gpu::require(synchronise_(stream_), "cuStreamSynchronize");
        const std::string name = what.name;
        std::size_t written = elements;
        if (name == "reduce_scatter") written = elements / static_cast<std::size_t>(ranks_);
        if (name == "reduce" && rank_ != 0) written = 0;
        const float expected = std::strcmp(what.operation, "sum") == 0 && name != "sendrecv" ? static_cast<float>(ranks_) : 1.0F;
        std::vector<float> found(elements);
        gpu_.to_host(found.data(), to, elements * 4);
        return static_cast<std::size_t>(std::count_if(found.begin(), found.begin() + static_cast<long>(written),
                                                      [&](float value) { return value != expected; }));
    }

    int rank_;
    int ranks_;
    std::size_t wrong_ = 0;
    std::vector<double> bus_rates_;
    proof::Gpu gpu_;
    Nccl nccl_;
    void* stream_ = nullptr;
    void* communicator_ = nullptr;
    int (*synchronise_)(void*) = nullptr;
};

int be_rank(int rank, int ranks, const Collective& what, int reading, int writing, int count, char** words) {
    if (ranks > 1 && std::getenv("PROOF_SAME_HOST") == nullptr)
        setenv("NCCL_HOSTID", ("proof-" + std::to_string(rank)).c_str(), 1);
    if (rank != 0 && std::freopen("/dev/null", "w", stdout) == nullptr) return 1;
    Identity identity{};
    if (rank == 0) {
        const Nccl nccl(nccl_path());
        int version = 0;
        nccl.require(nccl.version(&version), "ncclGetVersion");
        nccl.require(nccl.identity(&identity), "ncclGetUniqueId");
        std::printf("NCCL version %d.%d.%d\n", version / 10000, version / 100 % 100, version % 100);
        for (int other = 1; other < ranks; ++other)
            if (write(writing, &identity, sizeof identity) != sizeof identity) return 1;
    } else if (read(reading, &identity, sizeof identity) != sizeof identity) {
        return 1;
    }
    Rank self(rank, ranks, identity);
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    std::printf("# Collective test starting: %s_perf\n# nThread 1 nGpus 1 minBytes %s maxBytes %s step: 2(factor)"
                " warmup iters: %d iters: %d agg iters: 1 validation: 1 graph: 0\n# Using devices\n",
                what.name, words[4], words[count - 1], warm_up, fewest);
    for (int each = 0; each < ranks; ++each)
        std::printf("#  Rank %2d Group  0 Pid %6d on %s device  0 [0x00] %s\n", each, getpid(),
                    ranks > 1 && std::getenv("PROOF_SAME_HOST") == nullptr ? (host + std::string("-as-") + std::to_string(each)).c_str() : host,
                    self.device().c_str());
    std::printf("#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
                "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n");
    for (int place = 4; place < count; ++place)
        self.run(what, std::atof(words[3]), static_cast<std::size_t>(std::atoll(words[place])));
    self.summarise();
    return 0;
}

}  // namespace

int main(int count, char** words) {
    if (count < 5) proof::fail("collectives RANKS COLLECTIVE SECONDS SIZE…");
    const int ranks = std::atoi(words[1]);
    const auto* const what = std::find_if(std::begin(collectives), std::end(collectives),
                                          [&](const Collective& each) { return words[2] == std::string(each.name); });
    if (what == std::end(collectives)) proof::fail(std::string("no collective is named ") + words[2]);
    int ends[2];
    if (pipe(ends) != 0) proof::fail("no pipe could be made");
    std::vector<pid_t> children;
    for (int rank = 1; rank < ranks; ++rank) {
        const pid_t child = fork();
        if (child == 0) _exit(be_rank(rank, ranks, *what, ends[0], ends[1], count, words));
        children.push_back(child);
    }
    int worst = be_rank(0, ranks, *what, ends[0], ends[1], count, words);
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    return worst;
}
