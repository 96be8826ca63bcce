#include "fabricgauge/options.hpp"

#include "check.hpp"

using namespace fabricgauge;

namespace {

void expect_refused(const std::vector<std::string>& arguments, const std::string& part,
                    int line = __builtin_LINE()) {
    check::expect_error<OptionsError>([&] { parse_options(arguments); }, part, __FILE__, line);
}

}  // namespace

int main() {
    check::test("defaults are those of the documentation", [] {
        const Options options = parse_options({});
        check::expect_near(options.stopping.relative_half_width, 0.01, 0.0);
        check::expect_near(options.stopping.confidence, 0.95, 0.0);
        check::expect_near(options.grace_s, 10.0, 0.0);
        check::expect(!options.check_data);
        check::expect(!options.thread_multiple);
    });
    check::test("values follow an option or its equals sign", [] {
        const Options options = parse_options({"--half-width", "0.05", "--grace=3", "--check-data",
                                               "--thread-multiple", "--pin", "10.0.0.0/8", "--interface-env", "A",
                                               "--interface-env=B"});
        check::expect_near(options.stopping.relative_half_width, 0.05, 0.0);
        check::expect_near(options.grace_s, 3.0, 0.0);
        check::expect(options.check_data);
        check::expect(options.thread_multiple);
        check::expect_equal(options.pin.interface_variables.size(), std::size_t{2});
        check::expect_equal(options.pin.interface_variables.back(), "B");
    });
    check::test("what is not understood is refused by name", [] {
        expect_refused({"--fast"}, "--fast is not known");
        expect_refused({"--grace"}, "--grace needs a value");
        expect_refused({"--grace", "soon"}, "--grace: 'soon'");
        expect_refused({"--half-width", "1"}, "--half-width: '1'");
        expect_refused({"--confidence", "0"}, "--confidence: '0'");
        expect_refused({"--iterations", "0"}, "--iterations: '0'");
        expect_refused({"--interface-env", "A"}, "needs --pin");
        expect_refused({"--pin", "10.0.0.0/8", "--interface-env=A=B"}, "environment variable");
    });
    check::test("memory is named for both ends, or for origin and target", [] {
        check::expect(!parse_options({"--memory", "host"}).memory.on_device());
        const MemoryOptions both = parse_options({"--memory", "cuda", "--device=3"}).memory;
        check::expect(both.origin == MemoryKind::cuda && both.target == MemoryKind::cuda);
        check::expect_equal(*both.device, 3);
        const MemoryOptions one = parse_options({"--memory=host,hip"}).memory;
        check::expect(one.origin == MemoryKind::host && one.target == MemoryKind::hip);
        check::expect(one.device_kind() == MemoryKind::hip);
        expect_refused({"--memory", "gpu"}, "--memory: 'gpu' is not understood");
        expect_refused({"--memory", "cuda,"}, "--memory: ''");
        expect_refused({"--memory", "cuda,hip"}, "the same kind of device memory at both ends");
        expect_refused({"--device", "0"}, "--device needs --memory");
        expect_refused({"--memory", "cuda", "--transport", "verbs"}, "--memory cuda needs --transport mpi");
    });
    check::test("options of verbs follow the transport that they belong to", [] {
        check::expect(parse_options({"--transport", "mpi"}).transport == Carrier::mpi);
        const VerbsOptions verbs = parse_options({"--transport", "verbs", "--rdma-ports", "a:1,b:1", "--inline", "0",
                                                   "--path-mtu=1024", "--queue-pair", "ud", "--queue-pairs", "4",
                                                   "--gid-index", "3", "--signal-interval", "1"})
                                        .verbs;
        check::expect_equal(verbs.ports.back(), "b:1");
        check::expect_equal(*verbs.inline_bytes, 0);
        check::expect_equal(*verbs.path_mtu_bytes, 1024);
        check::expect(verbs.queue_pair == QueuePairKind::ud);
        check::expect_equal(verbs.queue_pairs, 4);
        check::expect_equal(*verbs.gid_index, 3);
        expect_refused({"--inline", "0"}, "--inline: it needs --transport verbs");
        expect_refused({"--transport", "tcp"}, "mpi, sockets, ofi or verbs");
        expect_refused({"--transport", "verbs", "--messages-by", "read"}, "write-imm");
        const std::vector<std::string> checked{"--transport", "verbs", "--check-data"};
        const auto with = [&](std::vector<std::string> more) {
            more.insert(more.begin(), checked.begin(), checked.end());
            return more;
        };
        expect_refused(with({"--messages-by", "write"}), "take write-imm");
        const auto shared = with({"--shared-receives", "yes", "--queue-pairs", "2"});
        expect_refused(shared, "no message has a place of its own");
        std::vector<std::string> placed = shared;
        placed.insert(placed.end(), {"--messages-by", "write-imm"});
        check::expect(parse_options(placed).verbs.messages_by == MessagesBy::write_imm);
        expect_refused({"--transport", "verbs", "--path-mtu", "1500"}, "512, 1024");
        expect_refused({"--transport", "verbs", "--queue-pair", "dc"}, "rc, uc, ud or xrc");
        expect_refused({"--transport", "verbs", "--queue-pair", "xrc", "--shared-receives", "yes"},
                       "a shared queue of receives for each connection");
        expect_refused({"--transport", "verbs", "--traffic-class", "256"}, "from 0 to 255");
        expect_refused({"--traffic-class", "16"}, "it needs --transport verbs");
    });
    check::test("options of libfabric follow it, and sockets need a network", [] {
        const OfiOptions ofi = parse_options({"--transport", "ofi", "--provider", "tcp;ofi_rxm",
                                              "--domain=eth0,eth1", "--messages", "plain"})
                                   .ofi;
        check::expect_equal(ofi.provider, "tcp;ofi_rxm");
        check::expect_equal(ofi.domains.back(), "eth1");
        check::expect(!*ofi.tagged);
        expect_refused({"--provider", "tcp"}, "--provider: it needs --transport ofi");
        expect_refused({"--transport", "ofi", "--messages", "x"}, "tagged or plain");
        expect_refused({"--transport", "sockets"}, "needs --pin SUBNET");
        const std::vector<std::string> in_class{"--transport", "sockets", "--pin", "10.0.0.0/8",
                                                "--traffic-class", "16"};
        check::expect_equal(parse_options(in_class).sockets_traffic_class, 16);
    });
    return check::outcome();
}
