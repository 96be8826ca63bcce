/* Stands for libamdhip64.so in tests; see stand_in_gpu.h. To build it:
   cc -shared -fPIC -o libamdhip64.so stand_in_hip.c */
#include "stand_in_gpu.h"

enum { host_to_device = 1, device_to_host = 2 };

int hipInit(unsigned flags) { return flags == 0 && planted("no-device") ? no_device : success; }

int hipGetDeviceCount(int* count) {
    *count = devices();
    return *count > 0 ? success : no_device;
}

int hipSetDevice(int number) {
    device_chosen = number >= 0 && number < devices();
    return device_chosen ? success : invalid_device;
}

int hipDeviceGetName(char* name, int bytes, int device) { return name_of_device(name, bytes, device); }

int hipMalloc(void** memory, size_t bytes) { return allocate(memory, bytes); }

int hipMallocManaged(void** memory, size_t bytes, unsigned flags) {
    return flags == 1 ? allocate(memory, bytes) : illegal_address;
}

int hipFree(void* memory) {
    free(memory);
    return success;
}

int hipHostMalloc(void** memory, size_t bytes, unsigned flags) {
    return flags == 0 ? allocate(memory, bytes) : illegal_address;
}

int hipHostFree(void* memory) {
    free(memory);
    return success;
}

int hipMemset(void* memory, int value, size_t bytes) {
    memset(memory, value, bytes);
    return device_chosen ? success : invalid_context;
}

int hipMemcpy(void* to, const void* from, size_t bytes, int kind) {
    return kind == host_to_device || kind == device_to_host
               ? copy(to, from, bytes, kind == device_to_host)
               : illegal_address;
}

int hipDeviceSynchronize(void) { return device_chosen ? success : invalid_context; }

const char* hipGetErrorString(int result) {
    return result == illegal_address ? "an illegal memory access was encountered" : "other";
}
