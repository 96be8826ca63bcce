/* Stands for libcuda.so.1 in tests; see stand_in_gpu.h. To build it:
   cc -shared -fPIC -o libcuda.so.1 stand_in_cuda.c */
#include "stand_in_gpu.h"

enum { most_devices = 8 };

static int contexts[most_devices];

int cuInit(unsigned flags) { return flags == 0 && planted("no-device") ? no_device : success; }

int cuDriverGetVersion(int* version) {
    *version = planted("old-driver") ? 6050 : 12040;
    return success;
}

int cuDeviceGetCount(int* count) {
    *count = devices();
    return success;
}

int cuDeviceGet(int* device, int number) {
    *device = number;
    return number >= 0 && number < devices() ? success : invalid_device;
}

int cuDeviceGetName(char* name, int bytes, int device) { return name_of_device(name, bytes, device); }

int cuDevicePrimaryCtxRetain(void** context, int device) {
    *context = &contexts[device % most_devices];
    return planted("unavailable") ? unavailable : success;
}

int cuCtxSetCurrent(void* context) {
    device_chosen = context != NULL;
    return success;
}

int cuMemAlloc_v2(unsigned long long* memory, size_t bytes) { return allocate((void**)memory, bytes); }

int cuMemAllocManaged(unsigned long long* memory, size_t bytes, unsigned flags) {
    return flags == 1 ? allocate((void**)memory, bytes) : illegal_address;
}

int cuMemFree_v2(unsigned long long memory) {
    free((void*)memory);
    return success;
}

int cuMemAllocHost_v2(void** memory, size_t bytes) { return allocate(memory, bytes); }

int cuMemFreeHost(void* memory) {
    free(memory);
    return success;
}

int cuMemsetD8_v2(unsigned long long memory, unsigned char value, size_t bytes) {
    memset((void*)memory, value, bytes);
    return device_chosen ? success : invalid_context;
}

int cuMemcpyHtoD_v2(unsigned long long memory, const void* host, size_t bytes) {
    return copy((void*)memory, host, bytes, 0);
}

int cuMemcpyDtoH_v2(void* host, unsigned long long memory, size_t bytes) {
    return copy(host, (const void*)memory, bytes, 1);
}

int cuStreamCreate(void** stream, unsigned flags) {
    *stream = NULL;
    return flags <= 1 ? success : invalid_context;
}

int cuStreamSynchronize(void* stream) { return stream == NULL ? success : invalid_context; }

int cuCtxSynchronize(void) { return device_chosen ? success : invalid_context; }

int cuGetErrorName(int result, const char** name) {
    *name = result == illegal_address ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OTHER";
    return success;
}

int cuGetErrorString(int result, const char** text) {
    *text = result == illegal_address ? "an illegal memory access was encountered" : "other";
    return success;
}
