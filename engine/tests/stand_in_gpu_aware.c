/* Stands for an MPI that says that it is GPU-aware, in tests with the stand-ins for GPU drivers; preloaded
   into the ranks: cc -shared -fPIC -o gpu_aware.so stand_in_gpu_aware.c -ldl
   With GPU_PLANTED_STAGING it copies what it sends to host memory first, by the driver whose stand-in is
   loaded, and waits for that: so messages are no faster than such copies. No unit test: tests/nodes/engines and
   tests/check preload it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int MPIX_Query_cuda_support(void) { return 1; }
int MPIX_Query_rocm_support(void) { return 1; }

static void* loaded(const char* library, const char* function) {
    void* opened = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    return opened ? dlsym(opened, function) : NULL;
}

static int copied(void* to, intptr_t from, size_t bytes) {
    void* found = loaded("libcuda.so.1", "cuMemcpyDtoH_v2");
    if (found) return ((int (*)(void*, intptr_t, size_t))found)(to, from, bytes);
    found = loaded("libamdhip64.so", "hipMemcpy");
    return found ? ((int (*)(void*, intptr_t, size_t, int))found)(to, from, bytes, 2) : -1;
}

static void stage(intptr_t data, intptr_t bytes) {
    if (!getenv("GPU_PLANTED_STAGING") || (int)bytes <= 0) return;
    void* host = malloc((size_t)(int)bytes);
    if (!host || copied(host, data, (size_t)(int)bytes) != 0) {
        fprintf(stderr, "stand-in: no copy to the host from this thread\n");
        abort();
    }
    free(host);
}

/* Handles are numbers in some MPIs and pointers in others: both travel as words. Messages are bytes. */
typedef intptr_t Word;

int MPI_Send(Word data, Word count, Word type, Word to, Word tag, Word group) {
    static int (*next)(Word, Word, Word, Word, Word, Word);
    if (!next) *(void**)&next = dlsym(RTLD_NEXT, "MPI_Send");
    stage(data, count);
    return next(data, count, type, to, tag, group);
}

int MPI_Isend(Word data, Word count, Word type, Word to, Word tag, Word group, Word request) {
    static int (*next)(Word, Word, Word, Word, Word, Word, Word);
    if (!next) *(void**)&next = dlsym(RTLD_NEXT, "MPI_Isend");
    stage(data, count);
    return next(data, count, type, to, tag, group, request);
}
