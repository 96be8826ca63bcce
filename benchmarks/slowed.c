/* Makes each MPI_Send later by DELAY_NS nanoseconds: a slower stack, to be found or not. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static long long now_ns(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000LL + at.tv_nsec;
}

int MPI_Send(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
    static long long delay_ns = -1;
    if (delay_ns < 0) {
        const char* said = getenv("DELAY_NS");
        delay_ns = said ? atoll(said) : 0;
    }
    const long long end_ns = now_ns() + delay_ns;
    while (now_ns() < end_ns) {
    }
    return PMPI_Send(data, count, type, peer, tag, comm);
}
