// Known calls of every kind, for tests: what is sent is counted by hand in tests/nodes/engines.
#include <mpi.h>

#include <vector>

int main(int argc, char** argv) {
    int provided = 0, rank = 0, size = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<int> mine(4096), theirs(4096), counts(size, 3), places(size, 0);
    const int next = (rank + 1) % size, last = (rank + size - 1) % size;
    for (int turn = 0; turn < 10; ++turn) {
        MPI_Request request;
        MPI_Isend(mine.data(), 100, MPI_INT, next, 1, MPI_COMM_WORLD, &request);
        MPI_Recv(theirs.data(), 4096, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Allreduce(MPI_IN_PLACE, mine.data(), 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Send(mine.data(), 5, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    MPI_Allgatherv(mine.data(), 3, MPI_INT, theirs.data(), counts.data(), places.data(), MPI_INT,
                   MPI_COMM_WORLD);
    MPI_Pcontrol(2);
    MPI_Bcast(mine.data(), 1000, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Pcontrol(-2);
    MPI_Pcontrol(0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    MPI_Request again;
    MPI_Send_init(mine.data(), 7, MPI_INT, next, 2, MPI_COMM_WORLD, &again);
    for (int turn = 0; turn < 3; ++turn) {
        MPI_Start(&again);
        MPI_Recv(theirs.data(), 7, MPI_INT, last, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&again, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&again);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Gather(mine.data(), 2, MPI_INT, theirs.data(), 2, MPI_INT, 0, half);
    MPI_Comm_free(&half);
    MPI_Win window;
    MPI_Win_create(theirs.data(), 4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(mine.data(), 16, MPI_INT, next, 0, 64, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    if (rank == 0) MPI_Pcontrol(0);  // a pause loses nothing, and keeps nobody waiting
    MPI_Finalize();
}
