// A plain ping-pong and a plain stream of buffers in GPU or host memory over MPI.
//
// pingpong ORIGIN[,TARGET] SECONDS_PER_SIZE SIZE…     (memory: host, cuda, managed)
// One line a size: bytes, half round trip in us, rate of a window of messages in MB/s (10^6), and
// whether the bytes that arrived are those that were sent.
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cuda.hpp"

namespace {

constexpr int warm_up = 10, blocks = 11, most = 2000, window = 16;
constexpr std::size_t few_from_bytes = 16u << 20;

class Buffer {
public:
    Buffer(const std::string& kind, std::size_t bytes) {
        if (kind == "host") {
            host_.resize(bytes);
            address_ = host_.data();
            return;
        }
        static proof::Gpu gpu(0);
        gpu_ = &gpu;
        address_ = reinterpret_cast<char*>(gpu.allocate(std::max<std::size_t>(bytes, 1), kind == "managed"));
    }

    char* at(std::size_t offset) const { return address_ + offset; }

    void write(const std::vector<char>& data) {
        if (gpu_ == nullptr) std::memcpy(address_, data.data(), data.size());
        else gpu_->to_device(reinterpret_cast<proof::Pointer>(address_), data.data(), data.size());
    }

    std::vector<char> read(std::size_t bytes) const {
        std::vector<char> data(bytes);
        if (gpu_ == nullptr) std::memcpy(data.data(), address_, bytes);
        else gpu_->to_host(data.data(), reinterpret_cast<proof::Pointer>(address_), bytes);
        return data;
    }

private:
    std::vector<char> host_;
    proof::Gpu* gpu_ = nullptr;
    char* address_ = nullptr;
};

struct Pair {
    int rank;
    int peer;

    void ping_pong(char* buffer, int bytes, int times) const {
        for (int turn = 0; turn < times; ++turn) {
            if (rank == 0) MPI_Send(buffer, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
            MPI_Recv(buffer, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == 1) MPI_Send(buffer, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        }
    }

    void stream(const Buffer& buffer, int bytes, int messages, int times) const {
        std::vector<MPI_Request> requests(static_cast<std::size_t>(messages));
        for (int turn = 0; turn < times; ++turn) {
            for (int index = 0; index < messages; ++index) {
                char* const place = buffer.at(static_cast<std::size_t>(index) * static_cast<std::size_t>(bytes));
                auto* const request = &requests[static_cast<std::size_t>(index)];
                if (rank == 0) MPI_Isend(place, bytes, MPI_BYTE, peer, 2, MPI_COMM_WORLD, request);
                else MPI_Irecv(place, bytes, MPI_BYTE, peer, 2, MPI_COMM_WORLD, request);
            }
            MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE);
            if (rank == 0) MPI_Recv(nullptr, 0, MPI_BYTE, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            else MPI_Send(nullptr, 0, MPI_BYTE, peer, 3, MPI_COMM_WORLD);
        }
    }

    // Returns the median of blocks of repetitions: a rank that waits for a processor spoils few of them.
    template <typename Work>
    double time(Work work, double seconds) const {
        work(warm_up);
        double begin = MPI_Wtime();
        work(warm_up);
        const double each = std::max((MPI_Wtime() - begin) / warm_up, 1e-9);
        int times = std::clamp(static_cast<int>(seconds / blocks / each), 1, most);
        MPI_Bcast(&times, 1, MPI_INT, 0, MPI_COMM_WORLD);
        std::vector<double> found;
        for (int block = 0; block < blocks; ++block) {
            MPI_Barrier(MPI_COMM_WORLD);
            begin = MPI_Wtime();
            work(times);
            found.push_back((MPI_Wtime() - begin) / times);
        }
        std::nth_element(found.begin(), found.begin() + blocks / 2, found.end());
        return found[blocks / 2];
    }
};

std::vector<char> pattern(std::size_t bytes, int seed) {
    std::vector<char> data(bytes);
    for (std::size_t index = 0; index < bytes; ++index)
        data[index] = static_cast<char>(index * 31 + (index >> 8) + static_cast<std::size_t>(seed));
    return data;
}

// Sends a known pattern one way; returns on both ranks whether it arrived.
bool check(const Pair& pair, Buffer& buffer, int bytes) {
    const auto expected = pattern(static_cast<std::size_t>(bytes), 7);
    buffer.write(pair.rank == 0 ? expected : pattern(static_cast<std::size_t>(bytes), 99));
    if (pair.rank == 0) MPI_Send(buffer.at(0), bytes, MPI_BYTE, 1, 4, MPI_COMM_WORLD);
    else MPI_Recv(buffer.at(0), bytes, MPI_BYTE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int good = pair.rank == 0 || buffer.read(static_cast<std::size_t>(bytes)) == expected;
    MPI_Bcast(&good, 1, MPI_INT, 1, MPI_COMM_WORLD);
    return good != 0;
}

}  // namespace

int main(int count, char** words) {
    MPI_Init(&count, &words);
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (count < 4 || ranks != 2) proof::fail("pingpong MEMORY[,MEMORY] SECONDS SIZE…, with two ranks");
    const std::string memory = words[1];
    const auto comma = memory.find(',');
    const std::string kinds[2] = {memory.substr(0, comma),
                                  comma == std::string::npos ? memory : memory.substr(comma + 1)};
    const double seconds = std::atof(words[2]);
    const Pair pair{rank, 1 - rank};
    if (rank == 0) std::printf("# bytes half_round_trip_us stream_MB_s window data\n");
    for (int place = 3; place < count; ++place) {
        const int bytes = std::atoi(words[place]);
        const int messages = static_cast<std::size_t>(bytes) >= few_from_bytes ? 4 : window;
        Buffer buffer(kinds[rank], static_cast<std::size_t>(bytes) * static_cast<std::size_t>(messages));
        const double round_trip = pair.time([&](int times) { pair.ping_pong(buffer.at(0), bytes, times); }, seconds);
        const double sent = pair.time([&](int times) { pair.stream(buffer, bytes, messages, times); }, seconds);
        const bool good = check(pair, buffer, bytes);
        if (rank == 0) {
            std::printf("%d %.3f %.3f %d %s\n", bytes, round_trip / 2 * 1e6,
                        bytes / sent * messages / 1e6, messages, good ? "same" : "DIFFERENT");
            std::fflush(stdout);
        }
    }
    MPI_Finalize();
    return 0;
}
