// Each rank sends the next one 64 messages of 64 KiB.
#include <mpi.h>

#include <vector>

int main(int argc, char** argv) {
    int rank = 0, size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<char> out(65536), in(65536);
    for (int turn = 0; turn < 64; ++turn)
        MPI_Sendrecv(out.data(), 65536, MPI_CHAR, (rank + 1) % size, 0, in.data(), 65536, MPI_CHAR,
                     (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
}
