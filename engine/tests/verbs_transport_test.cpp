#if __has_include(<infiniband/verbs.h>)

#include "fabricgauge/verbs_transport.hpp"

#include "check.hpp"
#include "fake_verbs.hpp"
#include "linked_pairs.hpp"
#include "rank_pair.hpp"

using namespace fabricgauge;

namespace {

using Transport = VerbsTransport<Control>;

VerbsOptions few(int interval) {
    VerbsOptions options;
    options.signal_interval = interval;
    return options;
}

OriginResult measure(const Case& measured, const Precision& precision, const VerbsOptions& options) {
    const VerbsLibrary library = fake_verbs::library();
    const VerbsDevice device(library, fake_verbs::port(), fake_verbs::port().gids.front(), options);
    return measure_pair<Transport>(measured, precision, device);
}

constexpr Pattern patterns[] = {Pattern::latency,       Pattern::bandwidth,
                                Pattern::bidirectional_bandwidth, Pattern::ping_ping,
                                Pattern::put_latency,   Pattern::put_bandwidth,
                                Pattern::get_latency,   Pattern::get_bandwidth,
                                Pattern::fetch_and_op_latency, Pattern::compare_and_swap_latency};

// Counts where the target waits in the control's own way, which may keep the processor, while the
// case runs: between the two fences around it.
struct Watched : Control {
    using Control::Control;

    void fence() {
        Control::fence();
        running = !running;
    }
    void receive_control(void* data, std::int64_t bytes, int peer) {
        if (running && rank() == 1 && !has_control(peer)) ++waits;
        Control::receive_control(data, bytes, peer);
    }

    static inline std::atomic<int> waits{0};
    bool running = false;
};

// Completions are told of every fourth send.
struct Linked : LinkedPairs {
    explicit Linked(std::uint32_t key_error = 0)
        : LinkedPairs(library(), fake_verbs::port(), fake_verbs::port().gids.front(), few(4),
                      key_error) {}

    static const VerbsLibrary& library() {
        static const VerbsLibrary verbs = fake_verbs::library();
        return verbs;
    }
};

}  // namespace

int main() {
    check::test("every pattern carries its data, and no message finds a receiver unready", [] {
        for (const Pattern pattern : patterns)
            for (const std::int64_t window : {1, 7, 64}) {
                const Case measured = with(pattern, 8, has_window(pattern) ? window : 1);
                check::expect(measure(measured, plain, few(3)).recorder.samples() > 0);
                check::expect_equal(measure(measured, checking, few(3)).mismatch.found, 0);
            }
    });
    check::test("a target that others read and write from leaves the processor to their device", [] {
        const VerbsLibrary library = fake_verbs::library();
        const VerbsDevice device(library, fake_verbs::port(), fake_verbs::port().gids.front(), few(3));
        for (const Pattern pattern : patterns)
            for (const Precision& precision : {plain, checking}) {
                Watched::waits = 0;
                const Case measured = with(pattern, 8, has_window(pattern) ? 7 : 1);
                measure_pair<VerbsTransport<Watched>>(measured, precision, device);
                if (is_one_sided(pattern)) check::expect_equal(Watched::waits.load(), 0);
            }
    });
    check::test("messages go by unreliable connections and by datagrams as well", [] {
        for (const QueuePairKind kind : {QueuePairKind::uc, QueuePairKind::ud})
            for (const Pattern pattern : patterns) {
                if (is_one_sided(pattern)) continue;
                VerbsOptions options = few(3);
                options.queue_pair = kind;
                const Case measured = with(pattern, 1024, has_window(pattern) ? 7 : 1);
                check::expect_equal(measure(measured, checking, options).mismatch.found, 0);
            }
    });
    check::test("every pattern goes by extended connections, with a queue of receives for each", [] {
        for (const int pairs : {1, 4})
            for (const Pattern pattern : patterns) {
                VerbsOptions options = few(3);
                options.queue_pair = QueuePairKind::xrc;
                options.queue_pairs = pairs;
                const Case measured = with(pattern, 8, has_window(pattern) ? 12 : 1);
                check::expect(measure(measured, plain, options).recorder.samples() > 0);
                check::expect_equal(measure(measured, checking, options).mismatch.found, 0);
            }
    });
    check::test("each work request of an extended connection names the peer's queue of receives", [] {
        VerbsOptions options = few(1);
        options.queue_pair = QueuePairKind::xrc;
        const VerbsLibrary& library = Linked::library();
        const RdmaPort port = fake_verbs::port();
        LinkedPairs right(library, port, port.gids.front(), options);
        const VerbsAddress there = right.other.address();
        check::expect(there.queue_pair != there.sender);
        const auto& pairs = fake_verbs::world().pairs;
        check::expect(pairs.at(there.queue_pair)->qp_type == IBV_QPT_XRC_RECV);
        check::expect(pairs.at(there.sender)->qp_type == IBV_QPT_XRC_SEND);
        right.one.write(right.buffer.data(), 8, 0);
        right.one.stream(right.buffer.data(), 8);
        right.one.await_posted();
        right.other.await(1);
        // As if the peer had none: its number is another's, which is gone.
        fake_verbs::world().extended.erase(there.receives);
        right.one.write(right.buffer.data(), 8, 0);
        check::expect_error<TransportError>([&] { right.one.await_posted(); },
                                            "the RDMA write to rank 1 by fake0:1 failed");
    });
    check::test("a device without extended connections is named, with what to take", [] {
        const VerbsLibrary library = fake_verbs::library();
        const RdmaPort port = fake_verbs::port();
        VerbsOptions options;
        options.queue_pair = QueuePairKind::xrc;
        const auto open = [&] { VerbsDevice(library, port, port.gids[0], options); };
        fake_verbs::world().abilities = 0;
        check::expect_error<RdmaError>(open, "fake0 has no extended reliable connections (XRC): take");
        fake_verbs::world().abilities = IBV_DEVICE_XRC;
        fake_verbs::context().abi_compat = nullptr;
        check::expect_error<RdmaError>(open, "ibv_open_xrcd of fake0 failed");
    });
    check::test("messages go by writes that receives tell of, each to its place", [] {
        for (const QueuePairKind kind : {QueuePairKind::rc, QueuePairKind::uc, QueuePairKind::xrc})
            for (const Pattern pattern : patterns) {
                if (is_one_sided(pattern)) continue;
                VerbsOptions options = few(3);
                options.queue_pair = kind;
                options.queue_pairs = has_window(pattern) ? 2 : 1;
                options.messages_by = MessagesBy::write_imm;
                const Case measured = with(pattern, 64, has_window(pattern) ? 6 : 1);
                check::expect_equal(measure(measured, checking, options).mismatch.found, 0);
            }
    });
    check::test("a message by a write is told by its last byte", [] {
        VerbsOptions options = few(3);
        options.messages_by = MessagesBy::write;
        // More messages than the last byte can count.
        const Precision many{0.01, 0.95, 600, 20e-9, false, true};
        for (const std::int64_t bytes : {1, 8, 1000}) {
            fake_verbs::world().told_receives = 0;
            Case measured = with(Pattern::latency, bytes);
            measured.budget_s = 60.0;
            const OriginResult told = measure(measured, many, options);
            check::expect(told.recorder.warmup_samples() + told.recorder.samples() >= 600);
            check::expect_equal(fake_verbs::world().told_receives, 0);
            check::expect_equal(told.mismatch.found, 0);
            check::expect_equal(told.compared, bytes > 1 ? 1 : 0);
            fake_verbs::world().damage = [](std::byte* data, std::size_t size) {
                if (size > 5) data[5] ^= std::byte{1};
            };
            const Mismatch damaged = measure(measured, many, options).mismatch;
            fake_verbs::world().damage = [](std::byte*, std::size_t) {};
            check::expect_equal(damaged.found, bytes > 5 ? 1 : 0);
            check::expect_equal(damaged.offset, bytes > 5 ? 5 : 0);
        }
    });
    check::test("a window is spread over several queue pairs", [] {
        for (const Pattern pattern : patterns) {
            VerbsOptions options = few(3);
            options.queue_pairs = 4;
            const Case measured = with(pattern, 8, has_window(pattern) ? 12 : 1);
            check::expect_equal(measure(measured, checking, options).mismatch.found, 0);
            check::expect(measure(measured, plain, options).recorder.samples() > 0);
        }
    });
    check::test("queue pairs share their receives", [] {
        for (const MessagesBy way : {MessagesBy::send, MessagesBy::write_imm})
            for (const int pairs : {1, 4}) {
                VerbsOptions options = few(3);
                options.shared_receives = true;
                options.queue_pairs = pairs;
                options.messages_by = way;
                const Precision& precision = way == MessagesBy::send && pairs > 1 ? plain : checking;
                for (const Pattern pattern : {Pattern::bandwidth, Pattern::bidirectional_bandwidth}) {
                    const OriginResult found = measure(with(pattern, 64, 12), precision, options);
                    check::expect(found.recorder.samples() > 0);
                    check::expect_equal(found.mismatch.found, 0);
                }
            }
    });
    check::test("a corrupted byte is found", [] {
        fake_verbs::world().damage = [](std::byte* data, std::size_t bytes) {
            if (bytes > 5) data[5] ^= std::byte{1};
        };
        for (const Pattern pattern : {Pattern::latency, Pattern::bandwidth, Pattern::put_latency})
            check::expect_equal(measure(with(pattern, 64), checking, few(64)).mismatch.offset, 5);
        fake_verbs::world().damage = [](std::byte*, std::size_t) {};
    });
    check::test("completions are told of every n-th send and of the last of a window", [] {
        Linked pair;
        const std::int64_t before = fake_verbs::world().told;
        for (int i = 0; i < 10; ++i) pair.one.write(pair.buffer.data(), 8, 0);
        pair.one.await_posted();
        check::expect_equal(fake_verbs::world().told - before, 3);
    });
    check::test("small messages are copied as they are posted, up to the limit", [] {
        Linked pair;
        const std::int64_t before = fake_verbs::world().inlined;
        pair.one.write(pair.buffer.data(), usual_inline_bytes, 0);
        pair.one.write(pair.buffer.data(), usual_inline_bytes + 1, 0);
        check::expect_equal(fake_verbs::world().inlined - before, 1);
    });
    check::test("a device with less has a lower limit, and what was asked for is not lowered", [] {
        fake_verbs::world().most_inline = 60;
        const VerbsLibrary library = fake_verbs::library();
        const RdmaPort port = fake_verbs::port();
        VerbsOptions options;
        check::expect_equal(VerbsDevice(library, port, port.gids[0], options).limits().inline_bytes, 32);
        options.inline_bytes = 61;
        check::expect_error<RdmaError>([&] { VerbsDevice(library, port, port.gids[0], options); }, "61 B");
        fake_verbs::world().most_inline = 256;
        options = VerbsOptions();
        options.path_mtu_bytes = 2048;
        check::expect_error<RdmaError>([&] { VerbsDevice(library, port, port.gids[0], options); }, "has 1024");
    });
    check::test("a wrong key is told with operation and peer", [] {
        Linked pair(1000);
        pair.one.write(pair.buffer.data(), 8, 0);
        check::expect_error<TransportError>([&] { pair.one.await_posted(); },
                                            "the RDMA write to rank 1 by fake0:1 failed: remote"
                                            " access error");
    });
    check::test("a receiver without a posted receive is told", [] {
        Linked pair;
        for (int i = 0; i < 3; ++i) pair.one.stream(pair.buffer.data(), 8);
        check::expect_error<TransportError>([&] { pair.one.await_posted(); },
                                            "verbs: the send to rank 1 by fake0:1 failed: RNR"
                                            " retry counter exceeded");
    });
    check::test("what was flushed is told by its cause", [] {
        Linked pair;
        fake_verbs::fail(*fake_verbs::world().pairs.at(pair.other.address().queue_pair), 0,
                         IBV_WC_REM_ACCESS_ERR);
        check::expect_error<TransportError>([&] { pair.other.await(1); }, "remote access error");
    });
    check::test("what verbs cannot do is said", [] {
        const VerbsLimits limits{1024, 0, 1 << 20, 100, 1, 0, 0};
        const auto says = [&](const Case& measured, const std::string& part) {
            check::expect(beyond_verbs(measured, limits).find(part) != std::string::npos);
        };
        check::expect_equal(beyond_verbs(with(Pattern::bandwidth, 8, 49), limits), "");
        says(with(Pattern::bandwidth, 8, 50), "a window of 50 needs 102 posted receives");
        says(with(Pattern::latency, 1 << 21), "up to 1048576 B");
        says(with(Pattern::fetch_and_op_latency, 8), "no atomic operations");
        says(with(Pattern::accumulate_latency, 8), "verbs have no accumulate_latency");
        says(with(Pattern::allreduce, 8), "verbs have no allreduce");
        VerbsOptions other;
        other.queue_pair = QueuePairKind::ud;
        other.queue_pairs = 3;
        check::expect(beyond_verbs(with(Pattern::put_latency, 8), limits, other).find("need rc") !=
                      std::string::npos);
        check::expect(beyond_verbs(with(Pattern::bandwidth, 8, 8), limits, other)
                          .find("evenly over 3") != std::string::npos);
        other = VerbsOptions();
        other.messages_by = MessagesBy::write;
        check::expect_equal(beyond_verbs(with(Pattern::latency, 8), limits, other), "");
        for (const Case& one : {with(Pattern::latency, 0), with(Pattern::bandwidth, 8, 8)})
            check::expect(beyond_verbs(one, limits, other).find("write-imm") != std::string::npos);
        other.queue_pair = QueuePairKind::ud;
        check::expect(beyond_verbs(with(Pattern::latency, 8), limits, other)
                          .find("datagrams are sends") != std::string::npos);
        other = VerbsOptions();
        for (const bool shared : {true, false}) {
            other.shared_receives = shared;
            check::expect(beyond_verbs(with(Pattern::latency, 8), limits, other)
                              .find("no receives that queue pairs share") != std::string::npos);
            other.queue_pair = QueuePairKind::xrc;
        }
        Case fenced = with(Pattern::put_latency, 8);
        fenced.epoch = Epoch::fence;
        says(fenced, "verbs have no epoch=fence");
    });
    check::test("a library that is not there is named, with what to install", [] {
        check::expect_error<RdmaError>([] { load_verbs("libibverbs-not-here.so.1"); }, "libibverbs1");
    });
    return check::outcome();
}

#else

int main() { return 0; }

#endif
