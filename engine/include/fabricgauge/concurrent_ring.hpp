// Messages between neighbours: in sendrecv each rank sends to its right and receives from its left,
// in exchange to and from both.
//
// Side 0 goes to the right, side 1 to the left. A message arrives on the side on which it was sent,
// even between two ranks, where both neighbours are the same: messages keep their order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/data_pattern.hpp"
#include "fabricgauge/messages.hpp"
#include "fabricgauge/together.hpp"

namespace fabricgauge {

constexpr int most_sides = 2;

// 1 in sendrecv, 2 in exchange.
int sides_of(Pattern pattern) noexcept;

struct Ring {
    int rank;
    int left;
    int right;
    std::int64_t bytes;
    const std::byte* out[most_sides];
    std::byte* in[most_sides];
};

// The bytes that an operation sends to ranks of other nodes.
std::int64_t abroad_bytes(const Ring& ring, int sides, const Communicator& communicator);
std::int64_t ring_memory_bytes(const Case& measured) noexcept;

class RingMessages {
public:
    // Without a check both sides send from the same memory.
    RingMessages(const Case& measured, int rank, int members, bool check);

    const Ring& ring() const noexcept { return ring_; }

    void fill(std::uint64_t sample) noexcept;
    // `found` keeps the first mismatch of the case.
    void verify(std::uint64_t sample, Mismatch& found) const noexcept;

private:
    bool check_;
    int sides_;
    Buffer memory_;
    Ring ring_;
};

template <typename Transport>
struct SendReceive {
    static constexpr int sides = 1;
    Transport& transport;
    Ring ring;

    void operator()() const {
        transport.send_and_receive(ring.out[0], ring.right, ring.in[0], ring.left, ring.bytes);
    }
};

template <typename Transport>
struct NeighbourExchange {
    static constexpr int sides = 2;
    Transport& transport;
    Ring ring;

    void operator()() const {
        transport.start_send(0, ring.out[0], ring.bytes, ring.right);
        transport.start_send(1, ring.out[1], ring.bytes, ring.left);
        transport.receive(ring.in[0], ring.bytes, ring.left);
        transport.receive(ring.in[1], ring.bytes, ring.right);
        transport.wait_all(sides);
    }
};

}  // namespace fabricgauge
