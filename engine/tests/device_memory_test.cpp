#include "fabricgauge/device_memory.hpp"

#include <cstdlib>
#include <cstring>

#include "check.hpp"
#include "fabricgauge/collective_memory.hpp"
#include "fabricgauge/device_copies.hpp"
#include "fabricgauge/messages.hpp"

using namespace fabricgauge;

namespace {

constexpr std::byte hidden{0xff};

// A device whose memory the host sees inverted: code that forgets a copy finds other bytes.
class Inverted : public DeviceMemory {
public:
    std::string device_name() const override { return "inverted"; }
    int device_number() const override { return 0; }
    const char* interface() const noexcept override { return "cuda"; }
    void enter() const override {}

    std::byte* allocate(std::int64_t bytes, int value) override {
        ++allocated;
        auto* const memory = static_cast<std::byte*>(std::malloc(static_cast<std::size_t>(bytes)));
        std::memset(memory, ~value, static_cast<std::size_t>(bytes));
        return memory;
    }
    void release(std::byte* memory) noexcept override {
        --allocated;
        std::free(memory);
    }
    void to_device(std::byte* memory, const std::byte* host, std::int64_t bytes) override {
        invert(memory, host, bytes);
    }
    void to_host(std::byte* host, const std::byte* memory, std::int64_t bytes) override {
        invert(host, memory, bytes);
    }

    std::byte* allocate_locked(std::int64_t bytes) override { return allocate(bytes, 0); }
    void release_locked(std::byte* memory) noexcept override { release(memory); }

    int allocated = 0;

private:
    static void invert(std::byte* to, const std::byte* from, std::int64_t bytes) {
        for (std::int64_t i = 0; i < bytes; ++i) to[i] = from[i] ^ hidden;
    }
};

Case with(Pattern pattern, std::int64_t bytes, std::int64_t window) {
    return {"a", pattern, bytes, window, 0, 1, 1.0};
}

Messages on(Inverted& device, const Case& measured) {
    return {measured, true, Buffer(slots_bytes(measured, true), &device)};
}

// What the origin sent, as it comes to the target's device.
void carry(const Messages& from, const Messages& to, const Case& measured) {
    for (std::int64_t slot = 0; slot < measured.window; ++slot)
        std::memcpy(to.slots().incoming(slot), from.slots().outgoing(slot),
                    static_cast<std::size_t>(measured.message_bytes));
}

}  // namespace

int main() {
    check::test("what is filled is on the device, and what came there is verified", [] {
        Inverted device;
        for (const Case& measured : {with(Pattern::latency, 5000, 1), with(Pattern::bandwidth, 777, 4)}) {
            Messages origin = on(device, measured), target = on(device, measured);
            for (std::uint64_t sample = 0; sample < 3; ++sample) {
                origin.fill(Author::origin, sample);
                carry(origin, target, measured);
                Mismatch found;
                target.verify(Author::origin, sample, 1, found);
                check::expect_equal(found.found, 0);
            }
        }
        check::expect_equal(device.allocated, 0);
    });
    check::test("a damaged byte is found at its place", [] {
        Inverted device;
        const Case measured = with(Pattern::bandwidth, 777, 4);
        Messages origin = on(device, measured), target = on(device, measured);
        origin.fill(Author::origin, 0);
        carry(origin, target, measured);
        target.slots().incoming(2)[100] ^= std::byte{1};
        Mismatch found;
        target.verify(Author::origin, 0, 1, found);
        check::expect_equal(found.found, 1);
        check::expect_equal(found.slot, 2);
        check::expect_equal(found.offset, 100);
    });
    check::test("a window on the device shows what was put there", [] {
        Inverted device;
        const Case measured = with(Pattern::put_bandwidth, 777, 4);
        Messages origin = on(device, measured);
        Messages target(measured, true, Buffer(measured.sample_payload_bytes(), &device), true);
        origin.fill(Author::origin, 2);
        for (std::int64_t slot = 0; slot < 4; ++slot)
            std::memcpy(target.memory().data() + slot * 777, origin.slots().outgoing(slot), 777);
        Mismatch found;
        target.verify(Author::origin, 2, 1, found);
        check::expect_equal(found.found, 0);
        target.memory().data()[777 + 5] ^= std::byte{1};
        target.verify(Author::origin, 2, 1, found);
        check::expect_equal(found.slot, 1);
        check::expect_equal(found.offset, 5);
    });
    check::test("a window on the device holds what the origin gets", [] {
        Inverted device;
        const Case measured = with(Pattern::get_latency, 777, 1);
        Messages origin = on(device, measured);
        Messages target(measured, true, Buffer(measured.sample_payload_bytes(), &device), true);
        target.fill(Author::target, 0);
        std::memcpy(origin.slots().incoming(0), target.memory().data(), 777);
        Mismatch found;
        origin.verify(Author::target, 0, 0, found);
        check::expect_equal(found.found, 0);
    });
    check::test("each thread's messages are on the device", [] {
        Inverted device;
        Case measured = with(Pattern::threads_bandwidth, 777, 2);
        measured.threads = 3;
        Messages origin = on(device, measured), target = on(device, measured);
        origin.fill(Author::origin, 0);
        for (int thread = 0; thread < 3; ++thread)
            for (std::int64_t slot = 0; slot < 2; ++slot)
                std::memcpy(target.slots(thread).incoming(slot), origin.slots(thread).outgoing(slot), 777);
        Mismatch found;
        target.verify(Author::origin, 0, 1, found);
        check::expect_equal(found.found, 0);
    });
    check::test("collectives fill and verify what lies on the device", [] {
        Inverted device;
        for (const Pattern pattern : {Pattern::bcast, Pattern::scatter, Pattern::alltoall}) {
            const Case measured = with(pattern, 777, 1);
            CollectiveData root(measured, 0, 2, true, &device), other(measured, 1, 2, true, &device);
            root.fill(3);
            other.fill(3);
            const std::byte* const sent =
                pattern == Pattern::bcast ? root.memory().in : root.memory().out + 777;
            std::memcpy(other.memory().in, sent, 777);
            if (pattern == Pattern::alltoall)
                std::memcpy(other.memory().in + 777, other.memory().out + 777, 777);
            Mismatch found;
            other.verify(3, found);
            check::expect_equal(found.found, 0);
            other.memory().in[9] ^= std::byte{1};
            other.verify(3, found);
            check::expect_equal(found.offset, 9);
        }
        check::expect_equal(device.allocated, 0);
    });
    check::test("copies are timed once for each size", [] {
        Inverted device;
        const std::vector<CopyTimes> found = copy_times(device, {5000, 8, 0, 8});
        check::expect_equal(found.size(), 2U);
        check::expect_equal(found[0].bytes, 8);
        check::expect(found[1].to_device_s > 0 && found[1].to_host_s > 0);
        check::expect_equal(copies_text({{8, 0.5, 0.25}}),
                            "[{\"bytes\":8,\"to_device_s\":0.5,\"to_host_s\":0.25}]");
        check::expect_equal(device.allocated, 0);
    });
    check::test("an empty message needs no copy", [] {
        Inverted device;
        Messages origin = on(device, with(Pattern::latency, 0, 1));
        Mismatch found;
        origin.fill(Author::origin, 0);
        origin.verify(Author::origin, 0, 0, found);
        check::expect_equal(found.found, 0);
    });
    check::test("ranks of a node have one device each, in turn", [] {
        check::expect_equal((DeviceChoice{"c1", std::nullopt, 0}.of(2, "X")), 0);
        check::expect_equal((DeviceChoice{"c1", std::nullopt, 3}.of(2, "X")), 1);
        check::expect_equal((DeviceChoice{"c1", 0, 3}.of(2, "X")), 0);
        check::expect_error<DeviceError>([] { DeviceChoice{"c1", 2, 0}.of(2, "X"); },
                                         "c1 has no X device 2: its driver shows 2");
        check::expect_error<DeviceError>([] { DeviceChoice{"c1", std::nullopt, 0}.of(0, "X"); },
                                         "c1 has no X device that its driver shows");
    });
    check::test("the launcher's word for the rank on its node is taken", [] {
        for (const char* const name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
            unsetenv(name);
        check::expect_equal(local_rank_before_mpi(), 0);
        setenv("SLURM_LOCALID", "5", 1);
        check::expect_equal(local_rank_before_mpi(), 5);
        setenv("OMPI_COMM_WORLD_LOCAL_RANK", "no number", 1);
        check::expect_equal(local_rank_before_mpi(), 5);
    });
    check::test("a library that is missing is named with the node", [] {
        const DeviceChoice choice{"c1", std::nullopt, 0};
        check::expect_error<DeviceError>([&] { open_cuda(choice, false, "libnosuch.so.1"); },
                                         "no libnosuch.so.1 on c1: there is no NVIDIA driver");
        check::expect_error<DeviceError>([&] { open_hip(choice, false, "libnosuch.so"); },
                                         "no libnosuch.so on c1: there is no HIP of ROCm");
    });
    check::test("a library of other functions is too old a driver", [] {
        const DeviceChoice choice{"c1", std::nullopt, 0};
        check::expect_error<DeviceError>([&] { open_cuda(choice, false, "libc.so.6"); },
                                         "libc.so.6 on c1 has no cuInit: the driver is too old");
        check::expect_error<DeviceError>([&] { open_hip(choice, false, "libc.so.6"); },
                                         "libc.so.6 on c1 has no hipInit");
    });
    return check::outcome();
}
