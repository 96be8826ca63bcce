// What many programs do in each step: compute, exchange data with other ranks, sum one number.
//
// exchanging halo|transpose STEPS BYTES COMPUTING
// BYTES go to each neighbour in a ring, or to each rank; COMPUTING is a number of multiplications.
#include <mpi.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace {

double compute(long multiplications) {
    volatile double value = 1.0;
    for (long one = 0; one < multiplications; ++one) value = value * 1.0000001;
    return value;
}

void halo(std::vector<char>& out, std::vector<char>& in, int bytes, int rank, int size) {
    const int before = (rank + size - 1) % size, after = (rank + 1) % size;
    MPI_Request open[4];
    MPI_Irecv(in.data(), bytes, MPI_CHAR, before, 0, MPI_COMM_WORLD, &open[0]);
    MPI_Irecv(in.data() + bytes, bytes, MPI_CHAR, after, 1, MPI_COMM_WORLD, &open[1]);
    MPI_Isend(out.data(), bytes, MPI_CHAR, after, 0, MPI_COMM_WORLD, &open[2]);
    MPI_Isend(out.data() + bytes, bytes, MPI_CHAR, before, 1, MPI_COMM_WORLD, &open[3]);
    MPI_Waitall(4, open, MPI_STATUSES_IGNORE);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 5) MPI_Abort(MPI_COMM_WORLD, 2);
    const bool ring = std::string(argv[1]) == "halo";
    const int steps = std::atoi(argv[2]), bytes = std::atoi(argv[3]);
    const std::size_t room = static_cast<std::size_t>(bytes) * static_cast<std::size_t>(size + 1);
    std::vector<char> out(room), in(room);
    for (int step = 0; step < steps; ++step) {
        double own = compute(std::atol(argv[4])), all = 0.0;
        if (ring) halo(out, in, bytes, rank, size);
        else MPI_Alltoall(out.data(), bytes, MPI_CHAR, in.data(), bytes, MPI_CHAR, MPI_COMM_WORLD);
        MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
}
