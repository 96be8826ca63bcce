// Two halves that talk over an intercommunicator: rank r of one half sends rank r of the other.
#include <mpi.h>

#include <vector>

int main(int argc, char** argv) {
    int rank = 0, size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int half = size / 2, side = rank < half ? 0 : 1, own = rank % half;
    MPI_Comm local, across;
    MPI_Comm_split(MPI_COMM_WORLD, side, rank, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, side ? 0 : half, 9, &across);
    std::vector<char> out(1000), in(1000);
    std::vector<int> counts(half, 4), places(half, 0);
    for (int turn = 0; turn < 10; ++turn) {
        if (side == 0) MPI_Send(out.data(), 100, MPI_CHAR, own, 1, across);
        else MPI_Recv(in.data(), 100, MPI_CHAR, own, 1, across, MPI_STATUS_IGNORE);
    }
    MPI_Allgather(out.data(), 8, MPI_CHAR, in.data(), 8, MPI_CHAR, across);
    MPI_Allgatherv(out.data(), 4, MPI_CHAR, in.data(), counts.data(), places.data(), MPI_CHAR, across);
    MPI_Alltoallv(out.data(), counts.data(), places.data(), MPI_CHAR, in.data(), counts.data(),
                  places.data(), MPI_CHAR, across);
    const int root = side ? 0 : own == 0 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Bcast(out.data(), 64, MPI_CHAR, root, across);
    MPI_Gather(out.data(), 16, MPI_CHAR, in.data(), 16, MPI_CHAR, root, across);
    MPI_Gatherv(out.data(), 4, MPI_CHAR, in.data(), counts.data(), places.data(), MPI_CHAR, root, across);
    MPI_Barrier(across);
    MPI_Comm_free(&across);
    MPI_Comm_free(&local);
    MPI_Finalize();
}
