// A program that sends, and then ends as its argument says.
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
    const std::string how = argv[1];
    int rank = 0, number = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int turn = 0; turn < 5; ++turn) {
        if (rank == 0) MPI_Send(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (how == "crash" && rank == 1) std::raise(SIGSEGV);
    if (how == "kill" && rank == 1) std::raise(SIGKILL);
    if (how == "abort" && rank == 1) MPI_Abort(MPI_COMM_WORLD, 7);
    if (how == "fork") {
        const pid_t child = fork();
        if (child == 0) {
            execlp("sleep", "sleep", "0.01", nullptr);
            std::_Exit(1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (status) std::abort();
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
}
