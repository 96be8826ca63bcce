/* Stands for libcuda.so.1 in tests; memory is the host's, so that an MPI without GPU support can carry it.
   CUDA_PLANTED_FAULT names one fault:

     no-device       cuInit finds no device
     none-visible    cuInit works, but there are 0 devices
     old-driver      the driver has CUDA 6.5
     unavailable     another process has the device to itself
     out-of-memory   no allocation of more than 1 MiB
     failed-copy     copies to the host fail
     corrupted       of what is copied to the host one byte is changed, at offset 1000

   CUDA_PLANTED_DEVICES is how many devices there are (2). To build it:
   cc -shared -fPIC -o libcuda.so.1 stand_in_cuda.c
   No unit test: tests/engines puts it into LD_LIBRARY_PATH. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    success = 0, out_of_memory = 2, unavailable = 46, no_device = 100, invalid_device = 101,
    invalid_context = 201, illegal_address = 700
};
enum { planted_offset = 1000, page_bytes = 4096, little_room = 1 << 20, most_devices = 8 };

static int contexts[most_devices];
static void* current;

static int planted(const char* fault) {
    const char* given = getenv("CUDA_PLANTED_FAULT");
    return given && strcmp(given, fault) == 0;
}

int cuInit(unsigned flags) { return flags == 0 && planted("no-device") ? no_device : success; }

int cuDriverGetVersion(int* version) {
    *version = planted("old-driver") ? 6050 : 12040;
    return success;
}

int cuDeviceGetCount(int* count) {
    const char* given = getenv("CUDA_PLANTED_DEVICES");
    *count = planted("none-visible") ? 0 : given ? atoi(given) : 2;
    return success;
}

int cuDeviceGet(int* device, int number) {
    int count;
    cuDeviceGetCount(&count);
    *device = number;
    return number >= 0 && number < count ? success : invalid_device;
}

int cuDeviceGetName(char* name, int bytes, int device) {
    snprintf(name, (size_t)bytes, "stand-in GPU of model %c", 'A' + device);
    return success;
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
    *context = &contexts[device % most_devices];
    return planted("unavailable") ? unavailable : success;
}

int cuCtxSetCurrent(void* context) {
    current = context;
    return success;
}

static int allocate(unsigned long long* memory, size_t bytes) {
    if (!current) return invalid_context;
    if (planted("out-of-memory") && bytes > little_room) return out_of_memory;
    const size_t whole = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    *memory = (unsigned long long)aligned_alloc(page_bytes, whole);
    return *memory ? success : out_of_memory;
}

int cuMemAlloc_v2(unsigned long long* memory, size_t bytes) { return allocate(memory, bytes); }

int cuMemAllocManaged(unsigned long long* memory, size_t bytes, unsigned flags) {
    return flags == 1 ? allocate(memory, bytes) : illegal_address;
}

int cuMemFree_v2(unsigned long long memory) {
    free((void*)memory);
    return success;
}

int cuMemsetD8_v2(unsigned long long memory, unsigned char value, size_t bytes) {
    memset((void*)memory, value, bytes);
    return current ? success : invalid_context;
}

int cuMemcpyHtoD_v2(unsigned long long memory, const void* host, size_t bytes) {
    memcpy((void*)memory, host, bytes);
    return current ? success : invalid_context;
}

int cuMemcpyDtoH_v2(void* host, unsigned long long memory, size_t bytes) {
    if (planted("failed-copy")) return illegal_address;
    memcpy(host, (const void*)memory, bytes);
    if (planted("corrupted") && bytes > planted_offset) ((char*)host)[planted_offset] ^= 4;
    return current ? success : invalid_context;
}

int cuCtxSynchronize(void) { return current ? success : invalid_context; }

int cuGetErrorName(int result, const char** name) {
    *name = result == illegal_address ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OTHER";
    return success;
}

int cuGetErrorString(int result, const char** text) {
    *text = result == illegal_address ? "an illegal memory access was encountered" : "other";
    return success;
}
