/* Preloaded into a rank: of what comes in over sockets in long pieces one byte is changed, as a faulty
   adapter or memory would. Control messages are shorter than that. No unit test: tests/check preloads it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { long_piece = 4 * 1024, planted_offset = 1000 };

static ssize_t planted(ssize_t taken, const struct iovec* parts, size_t count) {
    for (size_t i = 0; taken >= long_piece && i < count; ++i)
        if (parts[i].iov_len >= long_piece) {
            ((char*)parts[i].iov_base)[planted_offset] ^= 4;
            break;
        }
    return taken;
}

ssize_t readv(int descriptor, const struct iovec* parts, int count) {
    static ssize_t (*next)(int, const struct iovec*, int);
    if (!next) next = (ssize_t(*)(int, const struct iovec*, int))dlsym(RTLD_NEXT, "readv");
    return planted(next(descriptor, parts, count), parts, (size_t)count);
}

ssize_t recvmsg(int descriptor, struct msghdr* message, int flags) {
    static ssize_t (*next)(int, struct msghdr*, int);
    if (!next) next = (ssize_t(*)(int, struct msghdr*, int))dlsym(RTLD_NEXT, "recvmsg");
    return planted(next(descriptor, message, flags), message->msg_iov, message->msg_iovlen);
}

ssize_t recv(int descriptor, void* memory, size_t bytes, int flags) {
    static ssize_t (*next)(int, void*, size_t, int);
    if (!next) next = (ssize_t(*)(int, void*, size_t, int))dlsym(RTLD_NEXT, "recv");
    const struct iovec part = {memory, bytes};
    return planted(next(descriptor, memory, bytes, flags), &part, 1);
}
