/* What the stand-ins for GPU drivers' libraries share; the memory of their GPUs is the host's, so that an
   MPI without GPU support can carry it. GPU_PLANTED_FAULT names one fault:

     no-device       starting finds no device
     none-visible    starting works, but there are 0 devices
     old-driver      the driver has CUDA 6.5
     unavailable     another process has the device to itself (CUDA only)
     out-of-memory   no allocation of more than 1 MiB
     failed-copy     copies to the host fail
     corrupted       of what is copied to the host one byte is changed, at offset 1000

   GPU_PLANTED_DEVICES is how many devices there are (2). GPU_PLANTED_COPY_RATE is what a copy carries, in
   bytes per second; each then takes at least so long. No unit test: tests/nodes/engines loads the libraries. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    success = 0, out_of_memory = 2, unavailable = 46, no_device = 100, invalid_device = 101,
    invalid_context = 201, illegal_address = 700
};
enum { planted_offset = 1000, page_bytes = 4096, little_room = 1 << 20 };

/* Of the thread, as with both drivers: a device has to be chosen in each. */
static _Thread_local int device_chosen;

static int planted(const char* fault) {
    const char* given = getenv("GPU_PLANTED_FAULT");
    return given && strcmp(given, fault) == 0;
}

static int devices(void) {
    const char* given = getenv("GPU_PLANTED_DEVICES");
    return planted("none-visible") || planted("no-device") ? 0 : given ? atoi(given) : 2;
}

static int name_of_device(char* name, int bytes, int device) {
    snprintf(name, (size_t)bytes, "stand-in GPU of model %c", 'A' + device);
    return success;
}

static int allocate(void** memory, size_t bytes) {
    if (!device_chosen) return invalid_context;
    if (planted("out-of-memory") && bytes > little_room) return out_of_memory;
    const size_t whole = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    *memory = aligned_alloc(page_bytes, whole);
    return *memory ? success : out_of_memory;
}

static int copy(void* to, const void* from, size_t bytes, int to_host) {
    const char* rate = getenv("GPU_PLANTED_COPY_RATE");
    if (!device_chosen) return invalid_context;
    if (to_host && planted("failed-copy")) return illegal_address;
    memcpy(to, from, bytes);
    if (to_host && planted("corrupted") && bytes > planted_offset) ((char*)to)[planted_offset] ^= 4;
    if (rate) {
        const double seconds = (double)bytes / atof(rate);
        const struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
        nanosleep(&time, NULL);
    }
    return success;
}
