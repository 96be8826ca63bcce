#include "fabricgauge/concurrent_ring.hpp"

namespace fabricgauge {

namespace {

std::int64_t padded(std::int64_t bytes) noexcept {
    return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

// The seed includes the sender: a message of another rank does not match.
std::uint64_t seed_of(std::uint64_t sample, int sender, int side) noexcept {
    return pattern_seed(Author::origin, sample,
                        static_cast<std::uint64_t>(sender * most_sides + side));
}

}  // namespace

int sides_of(Pattern pattern) noexcept { return pattern == Pattern::exchange ? 2 : 1; }

std::int64_t abroad_bytes(const Ring& ring, int sides, const Communicator& communicator) {
    const int to_right = communicator.same_node(ring.right) ? 0 : 1;
    const int to_left = sides == 1 || communicator.same_node(ring.left) ? 0 : 1;
    return (to_right + to_left) * ring.bytes;
}

std::int64_t ring_memory_bytes(const Case& measured) noexcept {
    return 2 * sides_of(measured.pattern) * padded(measured.message_bytes);
}

RingMessages::RingMessages(const Case& measured, int rank, int members, bool check)
    : check_(check), sides_(sides_of(measured.pattern)), memory_(ring_memory_bytes(measured)),
      ring_{rank, (rank + members - 1) % members, (rank + 1) % members, measured.message_bytes,
            {},   {}} {
    for (int side = 0; side < sides_; ++side) {
        const std::int64_t stride = padded(ring_.bytes);
        ring_.out[side] = memory_.data() + (check ? side : 0) * stride;
        ring_.in[side] = memory_.data() + (sides_ + side) * stride;
    }
}

void RingMessages::fill(std::uint64_t sample) noexcept {
    for (int side = 0; side < sides_; ++side)
        fill_pattern(memory_.data() + side * padded(ring_.bytes),
                     static_cast<std::size_t>(ring_.bytes), seed_of(sample, ring_.rank, side));
}

void RingMessages::verify(std::uint64_t sample, Mismatch& found) const noexcept {
    for (int side = 0; side < sides_ && found.found == 0; ++side) {
        const std::uint64_t seed = seed_of(sample, side == 0 ? ring_.left : ring_.right, check_ ? side : 0);
        const auto offset =
            first_mismatch(ring_.in[side], static_cast<std::size_t>(ring_.bytes), seed);
        if (!offset) continue;
        found = {1, static_cast<std::int64_t>(*offset), static_cast<std::int64_t>(sample), side,
                 ring_.rank, static_cast<std::int64_t>(pattern_byte(*offset, seed)),
                 static_cast<std::int64_t>(ring_.in[side][*offset])};
    }
}

}  // namespace fabricgauge
