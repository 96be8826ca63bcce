// Over libfabric's providers that need nothing but this machine's kernel.
#if __has_include(<rdma/fabric.h>)

#include "fabricgauge/ofi_transport.hpp"

#include <atomic>
#include <thread>

#include "check.hpp"
#include "fabricgauge/transport.hpp"
#include "rank_pair.hpp"

using namespace fabricgauge;

namespace {

// Each once, in little time.
constexpr Precision brief{0.01, 0.95, 30, 20e-9, false};
constexpr Precision brief_checking{0.01, 0.95, 10, 20e-9, true};

constexpr Pattern patterns[] = {Pattern::latency,       Pattern::bandwidth,
                                Pattern::bidirectional_bandwidth, Pattern::ping_ping,
                                Pattern::put_latency,   Pattern::put_bandwidth,
                                Pattern::get_latency,   Pattern::get_bandwidth,
                                Pattern::fetch_and_op_latency, Pattern::compare_and_swap_latency};

LocalAddress loopback_address() { return *address_in(*Subnet::parse("127.0.0.0/8")); }

const OfiLibrary& library() {
    static const OfiLibrary ofi = load_ofi();
    return ofi;
}

// Each side opens a domain of its own, as two processes do.
struct OwnDomain {
    OfiDomain domain;
};
struct Side : OwnDomain, OfiTransport<Control> {
    Side(const OfiOptions& options, loopback::Wire& wire, int rank)
        : OwnDomain{{library(), options, loopback_address()}},
          OfiTransport<Control>(domain, wire, rank) {}
};

// What a provider cannot do is left out. A long message goes another way than a short one.
void carry_everything(const OfiOptions& options, const std::vector<std::int64_t>& sizes) {
    const OfiLimits limits = OfiDomain(library(), options, loopback_address()).limits();
    int measured_cases = 0;
    for (const Pattern pattern : patterns)
        for (const std::int64_t bytes : sizes) {
            const Case measured = with(pattern, bytes, has_window(pattern) ? 7 : 1);
            if (!beyond_ofi(measured, limits, options.provider).empty()) continue;
            ++measured_cases;
            check::expect(measure_pair<Side>(measured, brief, options).recorder.samples() > 0);
            check::expect_equal(measure_pair<Side>(measured, brief_checking, options).mismatch.found, 0);
        }
    check::expect(measured_cases >= 8);
}

// Two endpoints of one process that lead to each other; `key_error` is by how much the key for the
// other's memory is wrong.
struct Ends {
    OfiDomain domain{library(), {"tcp;ofi_rxm", {}, {}}, loopback_address()};
    OfiDomain other_domain{library(), {"tcp;ofi_rxm", {}, {}}, loopback_address()};
    Buffer memory{4096};
    OfiPair one{domain, memory.data(), 64, 10, 1, false};
    OfiPair other{other_domain, memory.data() + 2048, 64, 10, 0, true};

    void join(std::uint64_t key_error = 0) {
        OfiAddress there = other.address();
        there.key += key_error;
        one.join(there);
        other.join(one.address());
    }
    // While the other side calls its provider, which may see an error as well.
    void write() {
        std::atomic<bool> over{false};
        std::thread calls([&] {
            try {
                while (!over) other.advance();
            } catch (const TransportError&) {
            }
        });
        const auto end = [&] {
            over = true;
            calls.join();
        };
        try {
            one.write(memory.data(), 8, 0);
            one.await_started();
        } catch (...) {
            end();
            throw;
        }
        end();
    }
};

}  // namespace

int main() {
    check::test("every pattern carries its data by endpoints without connections", [] {
        carry_everything({"tcp;ofi_rxm", {}, true}, {0, 8, 1 << 16});
    });
    check::test("plain messages as well", [] { carry_everything({"tcp;ofi_rxm", {}, false}, {8}); });
    check::test("and by endpoints with a connection", [] { carry_everything({"tcp", {}, {}}, {8, 1 << 16}); });
    check::test("and through shared memory, which has no address", [] {
        carry_everything({"shm", {}, {}}, {8, 1 << 16});
    });
    check::test("a wrong key is told with operation, peer and provider", [] {
        Ends ends;
        ends.join(1000);
        check::expect_error<TransportError>([&] { ends.write(); },
                                            "the write with rank 1 by tcp;ofi_rxm (lo) failed");
    });
    check::test("ranks with different providers are told of it", [] {
        Ends ends;
        OfiAddress there = ends.other.address();
        there.provider[0] = 'x';
        check::expect_error<TransportError>([&] { ends.one.join(there); },
                                            "provider xcp;ofi_rxm, this one tcp;ofi_rxm");
    });
    check::test("a peer that does not listen is told", [] {
        const OfiDomain domain(library(), {"tcp", {}, {}}, loopback_address());
        OfiAddress gone;
        {
            const OfiPair listening(domain, nullptr, 0, 1, 0, true);
            gone = listening.address();
        }
        OfiPair calling(domain, nullptr, 0, 1, 1, false);
        check::expect_error<TransportError>([&] { calling.join(gone); }, "connecting with rank 1 by tcp");
    });
    check::test("what is not there is named", [] {
        const auto opens = [](const OfiOptions& options) {
            OfiDomain(library(), options, loopback_address());
        };
        check::expect_error<OfiError>([&] { opens({"nosuch", {}, {}}); }, "has no provider nosuch at lo");
        check::expect_error<OfiError>([&] { opens({"tcp", {"mlx5_0"}, true}); }, "domain mlx5_0 with tagged");
        check::expect_error<OfiError>([] { load_ofi("libfabric-not-here.so.1"); }, "libfabric1");
    });
    check::test("what a provider cannot do is said", [] {
        const OfiLimits limits{1 << 20, Abilities::one_sided, false};
        const auto says = [&](const Case& measured, const std::string& part) {
            check::expect(beyond_ofi(measured, limits, "tcp").find(part) != std::string::npos);
        };
        check::expect_equal(beyond_ofi(with(Pattern::get_latency, 8), limits, "tcp"), "");
        says(with(Pattern::put_latency, 8), "do not tell when a put has arrived");
        says(with(Pattern::latency, 1 << 21), "up to 1048576 B");
        says(with(Pattern::get_latency, 0), "of 0 B");
        says(with(Pattern::fetch_and_op_latency, 8), "no atomic operations");
    });
    return check::outcome();
}

#else

int main() { return 0; }

#endif
