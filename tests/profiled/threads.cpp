// Four threads that call MPI at the same time, each with a communicator and a ring of its own.
#include <mpi.h>

#include <thread>
#include <vector>

int main(int argc, char** argv) {
    int provided = 0, rank = 0, size = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 77);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<MPI_Comm> own(4);
    for (MPI_Comm& one : own) MPI_Comm_dup(MPI_COMM_WORLD, &one);
    std::vector<std::thread> threads;
    for (MPI_Comm& one : own)
        threads.emplace_back([&one, rank, size] {
            int out = rank, in = 0;
            for (int turn = 0; turn < 500; ++turn) {
                MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT,
                             (rank + size - 1) % size, 0, one, MPI_STATUS_IGNORE);
                if (turn % 100 == 0) {
                    MPI_Comm more;
                    MPI_Comm_dup(one, &more);
                    MPI_Barrier(more);
                    MPI_Comm_free(&more);
                }
            }
        });
    for (std::thread& one : threads) one.join();
    for (MPI_Comm& one : own) MPI_Comm_free(&one);
    MPI_Finalize();
}
