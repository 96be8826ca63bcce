// Many small calls of one rank with itself; prints what one takes in ns. For benchmarks.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
    const bool multiple = argc > 2 && std::string(argv[2]) == "multiple";
    int provided = 0, number = 1, sum = 0;
    MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    const long calls = std::atol(argv[1]);
    const double began = MPI_Wtime();
    for (long call = 0; call < calls; ++call)
        MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    std::printf("%f\n", (MPI_Wtime() - began) * 1e9 / static_cast<double>(calls));
    MPI_Finalize();
}
