#include "calls.hpp"
#include "fabricgauge/rdma_ports.hpp"

#if __has_include(<infiniband/verbs.h>)

#include "fabricgauge/verbs_pair.hpp"

namespace fabricgauge::path {

namespace {

struct QueuePair {
    QueuePair(Call& call, const VerbsOptions& options)
        : port(choose_port(read_rdma_ports(), options.ports)),
          library(load_verbs()),
          device(library, port, choose_gid(port, options.gid_index, options.gid_subnet), options),
          memory(device, call.memory.data(), bytes(call)),
          pair(device, device.limits().least(swapped(call, device.limits())), memory,
               {1, {call.in, 0, bytes(call) / 2, 1, false}}, 1 - call.rank) {
        pair.connect(swapped(call, pair.address()));
    }

    static std::int64_t bytes(const Call& call) {
        return static_cast<std::int64_t>(call.memory.size());
    }

    RdmaPort port;
    VerbsLibrary library;
    VerbsDevice device;
    VerbsMemory memory;
    VerbsPair pair;
};

}  // namespace

// Both calls are inline and jump to the driver's functions, which are what is traced.
Layer verbs_layer(Call& call, const VerbsOptions& options) {
    const auto verbs = std::make_shared<QueuePair>(call, options);
    const ibv_context_ops& calls = verbs->device.context()->ops;
    const Step send = [verbs](Call& c) { verbs->pair.stream(c.out, c.count); };
    const Step receive = [verbs](Call& c) { verbs->pair.receive(c.in, c.count); };
    return {{
        {"ibv_post_send", {address(calls.post_send)}, nothing, send,
         [verbs](Call&) {
             verbs->pair.await_streamed();
             hear(1, done_tag);
         },
         [receive](Call& c) {
             receive(c);
             tell(0, done_tag);
         }},
        {"ibv_poll_cq", {address(calls.poll_cq)}, go_and_wait, receive, nothing,
         [verbs, send](Call& c) {
             hear(0, go_tag);
             send(c);
             verbs->pair.await_streamed();
         }},
    }, std::string("verbs ") + name_of(options.queue_pair) + " by " + verbs->port.name() + " (" +
           verbs->library.path + ")"};
}

}  // namespace fabricgauge::path

#else

namespace fabricgauge::path {

Layer verbs_layer(Call&, const VerbsOptions&) {
    throw RdmaError("this program was built without verbs: install their header (Debian's"
                    " libibverbs-dev, Red Hat's rdma-core-devel)");
}

}  // namespace fabricgauge::path

#endif
