/* Faults of an adapter, planted for tests: preloaded into the ranks, it stands between the engine and
   libibverbs. IBV_PLANTED_FAULT names one fault and, after a colon, how many operations of its kind go well
   before:

     corrupted:N    of the next received message one byte is changed, at offset 1000
     wrong-key:N    the next RDMA write has another key than the peer's memory has
     no-receive:N   from then on no receive is posted

   The engine opens libibverbs by name. It is given this library instead, which has all else from the real
   one: cc -shared -fPIC -o faulty_verbs.so faulty_verbs.c -Wl,--no-as-needed -libverbs -ldl
   No unit test: tests/check preloads it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { planted_offset = 1000, most_places = 4096 };

static const uint32_t key_error = 0x1000;

static struct ibv_context_ops driver; /* of the one device that a rank opens */

/* Where the message of each receive goes, by what the engine calls it. */
static struct {
    uint64_t called;
    struct ibv_sge place;
} places[most_places];

/* Whether the fault is `kind`, and as many operations of it as were asked for lie behind. */
static int is_due(const char* kind, long done) {
    const char* const asked = getenv("IBV_PLANTED_FAULT");
    const size_t length = strlen(kind);
    return asked && strncmp(asked, kind, length) == 0 && asked[length] == ':' &&
           done >= atol(asked + length + 1);
}

static void remember(const struct ibv_recv_wr* receive) {
    if (receive->num_sge == 0) return;
    for (int i = 0; i < most_places; ++i)
        if (places[i].place.length == 0 || places[i].called == receive->wr_id) {
            places[i].called = receive->wr_id;
            places[i].place = receive->sg_list[receive->num_sge - 1];
            return;
        }
}

static int corrupt(uint64_t called) {
    for (int i = 0; i < most_places; ++i)
        if (places[i].called == called && places[i].place.length > planted_offset) {
            ((char*)(uintptr_t)places[i].place.addr)[planted_offset] ^= 4;
            return 1;
        }
    return 0;
}

static int post_receive(struct ibv_qp* pair, struct ibv_recv_wr* receive, struct ibv_recv_wr** bad) {
    static long done;
    if (is_due("no-receive", done++)) return 0;
    for (const struct ibv_recv_wr* one = receive; one; one = one->next) remember(one);
    return driver.post_recv(pair, receive, bad);
}

static int post_send(struct ibv_qp* pair, struct ibv_send_wr* request, struct ibv_send_wr** bad) {
    static long done;
    static int planted;
    if (request->opcode != IBV_WR_RDMA_WRITE || planted || !is_due("wrong-key", done++))
        return driver.post_send(pair, request, bad);
    struct ibv_send_wr wrong = *request;
    wrong.wr.rdma.rkey += key_error;
    planted = 1;
    return driver.post_send(pair, &wrong, bad);
}

static int poll(struct ibv_cq* queue, int most, struct ibv_wc* completions) {
    static long done;
    static int planted;
    const int found = driver.poll_cq(queue, most, completions);
    for (int i = 0; i < found; ++i)
        if (completions[i].status == IBV_WC_SUCCESS && completions[i].opcode == IBV_WC_RECV &&
            is_due("corrupted", done++) && !planted)
            planted = corrupt(completions[i].wr_id);
    return found;
}

struct ibv_context* ibv_open_device(struct ibv_device* device) {
    static struct ibv_context* (*next)(struct ibv_device*);
    if (!next) next = (struct ibv_context * (*)(struct ibv_device*)) dlsym(RTLD_NEXT, "ibv_open_device");
    struct ibv_context* const context = next(device);
    if (!context) return NULL;
    driver = context->ops;
    context->ops.post_recv = post_receive;
    context->ops.post_send = post_send;
    context->ops.poll_cq = poll;
    return context;
}

void* dlopen(const char* name, int mode) {
    static void* (*next)(const char*, int);
    if (!next) next = (void* (*)(const char*, int))dlsym(RTLD_NEXT, "dlopen");
    Dl_info own;
    if (name && strcmp(name, "libibverbs.so.1") == 0 && dladdr((void*)&places, &own)) name = own.dli_fname;
    return next(name, mode);
}
