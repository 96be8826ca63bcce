#include "calls.hpp"

#if __has_include(<rdma/fabric.h>)

#include "fabricgauge/ofi_pair.hpp"

namespace fabricgauge::path {

namespace {

OfiOptions tagged(OfiOptions options) {
    options.tagged = true;
    return options;
}

struct Endpoint {
    Endpoint(Call& call, const OfiOptions& options, const LocalAddress& own)
        : library(load_ofi()), domain(library, tagged(options), own),
          pair(domain, call.memory.data(), static_cast<std::int64_t>(call.memory.size()), 1,
               1 - call.rank, call.rank == 1) {
        pair.join(swapped(call, pair.address()));
    }

    // Many providers move data in this side's calls alone.
    void hear_meanwhile(int rank, int tag) {
        for (int found = 0; found == 0; pair.advance())
            MPI_Iprobe(rank, tag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        hear(rank, tag);
    }

    OfiLibrary library;
    OfiDomain domain;
    OfiPair pair;
};

}  // namespace

// The calls are inline and jump to the provider's functions, which are what is traced. What is read
// of the queue until it has the completion is part of the call, as MPI_Recv does it by itself.
Layer ofi_layer(Call& call, const OfiOptions& options, const LocalAddress& own) {
    const auto ofi = std::make_shared<Endpoint>(call, options, own);
    const fi_ops_tagged& calls = *ofi->pair.endpoint().tagged;
    const void* const read = address(ofi->pair.completions().ops->read);
    const Step send = [ofi](Call& c) {
        ofi->pair.start_send(c.out, c.count);
        ofi->pair.await_started();
    };
    const Step receive = [ofi](Call& c) {
        ofi->pair.start_receive(c.in, c.count);
        ofi->pair.await_received();
    };
    const Step done = [ofi](Call&) { ofi->hear_meanwhile(1, done_tag); };
    const Step answer_send = [receive](Call& c) {
        receive(c);
        tell(0, done_tag);
    };
    const Step send_when_told = [send](Call& c) {
        hear(0, go_tag);
        send(c);
    };
    return {{
        {"fi_tsend", {address(calls.send), read}, nothing,
         [ofi](Call& c) {
             ofi->pair.post_send(c.out, c.count);
             ofi->pair.await_started();
         },
         done, answer_send},
        {"fi_tinject", {address(calls.inject)}, nothing,
         [ofi](Call& c) { ofi->pair.inject(c.out, c.count); }, done, answer_send},
        {"fi_trecv", {address(calls.recv), read}, go_and_wait, receive, nothing, send_when_told},
    }, "libfabric " + ofi->library.version_text() + " (" + ofi->library.path + "), provider " +
           ofi->domain.provider() + ", " + ofi->domain.name()};
}

}  // namespace fabricgauge::path

#else

namespace fabricgauge::path {

Layer ofi_layer(Call&, const OfiOptions&, const LocalAddress&) {
    throw OfiError("this program was built without libfabric: install its header (Debian's"
                   " libfabric-dev, Red Hat's libfabric-devel)");
}

}  // namespace fabricgauge::path

#endif
