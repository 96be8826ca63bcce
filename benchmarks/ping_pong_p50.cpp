// A plain ping-pong of two ranks that times each round trip: the median of each series, one way, in
// seconds. Arguments: bytes, round trips of a series, series.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int warm_up = 100;

double median_half_round_trip_s(int rank, std::vector<char>& out, std::vector<char>& in, int trips) {
    const int bytes = static_cast<int>(out.size());
    const int peer = 1 - rank;
    std::vector<double> times_s;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int trip = -warm_up; trip < trips; ++trip) {
        const double began_s = MPI_Wtime();
        if (rank == 0) MPI_Send(out.data(), bytes, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
        MPI_Recv(in.data(), bytes, MPI_CHAR, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(out.data(), bytes, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
        if (trip >= 0) times_s.push_back((MPI_Wtime() - began_s) / 2);
    }
    const auto middle = times_s.begin() + trips / 2;
    std::nth_element(times_s.begin(), middle, times_s.end());
    return *middle;
}

}  // namespace

int main(int count, char** words) {
    MPI_Init(&count, &words);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const auto bytes = static_cast<std::size_t>(std::atoi(words[1]));
    std::vector<char> out(bytes), in(bytes);
    for (int series = 0; series < std::atoi(words[3]); ++series) {
        const double median_s = median_half_round_trip_s(rank, out, in, std::atoi(words[2]));
        if (rank == 0) std::printf("%.9f\n", median_s);
    }
    MPI_Finalize();
}
