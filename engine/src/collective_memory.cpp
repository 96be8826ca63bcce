#include "fabricgauge/collective_memory.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace fabricgauge {

namespace {

constexpr std::int64_t element_bytes = sizeof(float);

// Whole numbers whose sums over up to 149,000 ranks a float holds exactly: at most 8 + 15 * 7 each.
// A rank's share differs from those of 15 neighbours; a missing or repeated share always changes
// the sum, because the first part is never 0.
struct Addends {
    std::int64_t common;
    std::int64_t per_rank;

    std::int64_t of(int rank) const noexcept { return common + (rank % 16) * per_rank; }
    std::int64_t sum(int members) const noexcept {
        const std::int64_t whole = members / 16;
        const std::int64_t rest = members % 16;
        return members * common + per_rank * (whole * 120 + rest * (rest - 1) / 2);
    }
};

Addends addends(std::int64_t element, std::uint64_t sample) noexcept {
    const std::uint64_t mixed =
        (static_cast<std::uint64_t>(element) + 1) * 0x9e3779b97f4a7c15U + sample * 0xbf58476d1ce4e5b9U;
    return {static_cast<std::int64_t>(mixed >> 40 & 7) + 1, static_cast<std::int64_t>(mixed >> 50 & 7)};
}

struct Row {
    Pattern blocking;
    Pattern nonblocking;
    Movement movement;
    bool counts;
};

constexpr Row table[] = {
    {Pattern::barrier, Pattern::ibarrier, Movement::nothing, false},
    {Pattern::bcast, Pattern::ibcast, Movement::broadcast, false},
    {Pattern::reduce, Pattern::ireduce, Movement::reduce, false},
    {Pattern::allreduce, Pattern::iallreduce, Movement::allreduce, false},
    {Pattern::reduce_scatter, Pattern::ireduce_scatter, Movement::reduce_scatter, true},
    {Pattern::allgather, Pattern::iallgather, Movement::allgather, false},
    {Pattern::allgatherv, Pattern::iallgatherv, Movement::allgather, true},
    {Pattern::gather, Pattern::igather, Movement::gather, false},
    {Pattern::gatherv, Pattern::igatherv, Movement::gather, true},
    {Pattern::scatter, Pattern::iscatter, Movement::scatter, false},
    {Pattern::scatterv, Pattern::iscatterv, Movement::scatter, true},
    {Pattern::alltoall, Pattern::ialltoall, Movement::alltoall, false},
    {Pattern::alltoallv, Pattern::ialltoallv, Movement::alltoall, true},
};

const Row& row_of(Pattern pattern) noexcept {
    for (const Row& row : table)
        if (row.blocking == pattern || row.nonblocking == pattern) return row;
    return table[0];
}

// Elements that each of `members` gets of `elements`: the first members get the remainder.
std::int64_t share_of(int rank, std::int64_t elements, int members) noexcept {
    return elements / members + (rank < elements % members ? 1 : 0);
}

void note(Mismatch& found, std::int64_t offset, std::uint64_t sample, std::uint64_t slot, int rank,
          std::byte expected, std::byte received) noexcept {
    found = {1, offset, static_cast<std::int64_t>(sample), static_cast<std::int64_t>(slot), rank,
             std::to_integer<std::int64_t>(expected), std::to_integer<std::int64_t>(received)};
}

}  // namespace

Movement movement_of(Pattern pattern) noexcept { return row_of(pattern).movement; }

bool is_reduction(Movement movement) noexcept {
    return movement == Movement::reduce || movement == Movement::allreduce ||
           movement == Movement::reduce_scatter;
}

bool has_counts(Pattern pattern) noexcept { return row_of(pattern).counts; }

bool is_nonblocking(Pattern pattern) noexcept { return row_of(pattern).nonblocking == pattern; }

CollectiveSizes sizes_of(const Case& measured, int rank, int members) noexcept {
    const std::int64_t one = measured.message_bytes;
    const std::int64_t all = one * members;
    const bool root = rank == collective_root;
    switch (movement_of(measured.pattern)) {
        case Movement::nothing: return {0, 0};
        case Movement::broadcast: return {0, one};
        case Movement::reduce: return {one, root ? one : 0};
        case Movement::allreduce: return {one, one};
        case Movement::reduce_scatter:
            return {one, share_of(rank, one / element_bytes, members) * element_bytes};
        case Movement::allgather: return {one, all};
        case Movement::gather: return {one, root ? all : 0};
        case Movement::scatter: return {root ? all : 0, one};
        case Movement::alltoall: return {all, all};
    }
    return {0, 0};
}

std::string refused_size(const Case& measured, int members) {
    const std::string name = name_of(measured.pattern);
    const Movement movement = movement_of(measured.pattern);
    if (is_reduction(movement) && measured.message_bytes % element_bytes != 0)
        return name + " adds floats, so its messages need a multiple of " +
               std::to_string(element_bytes) + " bytes, not " +
               std::to_string(measured.message_bytes);
    const bool placed = has_counts(measured.pattern) && !is_reduction(movement);
    if (placed && measured.message_bytes * members > std::numeric_limits<int>::max())
        return name + " of " + std::to_string(measured.message_bytes) + " bytes with " +
               std::to_string(members) +
               " ranks has blocks beyond 2 GiB, where MPI's displacements end; choose a smaller "
               "message";
    return "";
}

CollectiveData::CollectiveData(const Case& measured, int rank, int members, bool check,
                               DeviceMemory* device)
    : movement_(movement_of(measured.pattern)), rank_(rank), members_(members),
      bytes_(measured.message_bytes), counted_(has_counts(measured.pattern)),
      out_(sizes_of(measured, rank, members).out, device),
      in_(sizes_of(measured, rank, members).in, device) {
    if (!check || device == nullptr) return;
    host_out_.emplace(out_.bytes());
    host_in_.emplace(in_.bytes());
}

CollectiveMemory CollectiveData::memory() const {
    CollectiveMemory memory{out_.data(), in_.data(), bytes_, {}, {}};
    if (!counted_) return memory;
    for (int rank = 0; rank < members_; ++rank) {
        const bool shared_out = movement_ == Movement::reduce_scatter;
        memory.counts.push_back(static_cast<int>(
            shared_out ? share_of(rank, bytes_ / element_bytes, members_) : bytes_));
        memory.offsets.push_back(shared_out ? 0 : static_cast<int>(rank * bytes_));
    }
    return memory;
}

std::uint64_t CollectiveData::slot_of(int from, int to) const noexcept {
    return static_cast<std::uint64_t>(from) * static_cast<std::uint64_t>(members_) +
           static_cast<std::uint64_t>(to);
}

void CollectiveData::fill(std::uint64_t sample) {
    fill_blocks(sample);
    if (host_out_) out_.device()->to_device(out_.data(), out(), out_.bytes());
    // A broadcast's root sends what it has there.
    if (host_in_ && movement_ == Movement::broadcast)
        in_.device()->to_device(in_.data(), in(), in_.bytes());
}

void CollectiveData::fill_blocks(std::uint64_t sample) noexcept {
    const auto size = static_cast<std::size_t>(bytes_);
    const auto fill_block = [&](std::byte* data, int to) {
        fill_pattern(data, size, pattern_seed(Author::origin, sample, slot_of(rank_, to)));
    };
    switch (movement_) {
        case Movement::nothing: return;
        case Movement::broadcast:
            if (rank_ == collective_root) fill_block(in(), 0);
            return;
        case Movement::allgather:
        case Movement::gather: return fill_block(out(), 0);
        case Movement::scatter:
            if (rank_ != collective_root) return;
            [[fallthrough]];
        case Movement::alltoall:
            for (int to = 0; to < members_; ++to) fill_block(out() + to * bytes_, to);
            return;
        default: return fill_floats(sample);
    }
}

void CollectiveData::fill_floats(std::uint64_t sample) noexcept {
    for (std::int64_t i = 0; i < bytes_ / element_bytes; ++i) {
        const auto value = static_cast<float>(addends(i, sample).of(rank_));
        std::memcpy(out() + i * element_bytes, &value, sizeof value);
    }
}

void CollectiveData::verify(std::uint64_t sample, Mismatch& found) {
    if (host_in_) in_.device()->to_host(in(), in_.data(), in_.bytes());
    verify_blocks(sample, found);
}

void CollectiveData::verify_blocks(std::uint64_t sample, Mismatch& found) const noexcept {
    switch (movement_) {
        case Movement::nothing: return;
        case Movement::broadcast: return verify_block(0, slot_of(collective_root, 0), sample, found);
        case Movement::scatter:
            return verify_block(0, slot_of(collective_root, rank_), sample, found);
        case Movement::gather:
            if (rank_ != collective_root) return;
            [[fallthrough]];
        case Movement::allgather:
            for (int from = 0; from < members_; ++from)
                verify_block(from, slot_of(from, 0), sample, found);
            return;
        case Movement::alltoall:
            for (int from = 0; from < members_; ++from)
                verify_block(from, slot_of(from, rank_), sample, found);
            return;
        default: return verify_floats(sample, found);
    }
}

void CollectiveData::verify_block(std::int64_t block, std::uint64_t seed_slot,
                                  std::uint64_t sample, Mismatch& found) const noexcept {
    if (found.found != 0) return;
    const std::byte* const data = in() + block * bytes_;
    const std::uint64_t seed = pattern_seed(Author::origin, sample, seed_slot);
    const auto offset = first_mismatch(data, static_cast<std::size_t>(bytes_), seed);
    if (!offset) return;
    note(found, static_cast<std::int64_t>(*offset), sample, static_cast<std::uint64_t>(block), rank_,
         pattern_byte(*offset, seed), data[*offset]);
}

std::int64_t CollectiveData::first_element() const noexcept {
    if (movement_ != Movement::reduce_scatter) return 0;
    const std::int64_t elements = bytes_ / element_bytes;
    return elements / members_ * rank_ + std::min<std::int64_t>(rank_, elements % members_);
}

std::int64_t CollectiveData::elements_received() const noexcept {
    if (movement_ == Movement::reduce && rank_ != collective_root) return 0;
    const std::int64_t elements = bytes_ / element_bytes;
    return movement_ == Movement::reduce_scatter ? share_of(rank_, elements, members_) : elements;
}

void CollectiveData::verify_floats(std::uint64_t sample, Mismatch& found) const noexcept {
    if (found.found != 0) return;
    const std::int64_t first = first_element();
    for (std::int64_t i = 0; i < elements_received(); ++i) {
        const auto sum = static_cast<float>(addends(first + i, sample).sum(members_));
        std::byte expected[sizeof sum];
        std::memcpy(expected, &sum, sizeof sum);
        const std::byte* const received = in() + i * element_bytes;
        const auto differs = std::mismatch(received, received + sizeof sum, expected);
        if (differs.second == expected + sizeof sum) continue;
        return note(found, differs.first - in(), sample, 0, rank_, *differs.second,
                    *differs.first);
    }
}

}  // namespace fabricgauge
