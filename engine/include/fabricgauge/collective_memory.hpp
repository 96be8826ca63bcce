// Source and destination of a collective's data on one rank, and the check of the received data.
//
// Sizes are OSU's: see docs/development/engine-output.md. The v-forms have equal counts, as OSU's
// and IMB's have; reductions add floats, again as both suites do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/data_pattern.hpp"
#include "fabricgauge/messages.hpp"

namespace fabricgauge {

// Rank that has the data of the operations with a root, or gets them.
constexpr int collective_root = 0;

// `counts` and `offsets` have an entry for each rank: bytes in the v-forms, elements in
// reduce_scatter, nothing in the others.
struct CollectiveMemory {
    const std::byte* out;
    std::byte* in;
    std::int64_t bytes;
    std::vector<int> counts;
    std::vector<int> offsets;
};

// The data that an operation moves, blocking or not.
enum class Movement {
    nothing, broadcast, reduce, allreduce, reduce_scatter, allgather, gather, scatter, alltoall,
};

Movement movement_of(Pattern pattern) noexcept;
bool is_reduction(Movement movement) noexcept;
bool has_counts(Pattern pattern) noexcept;
bool is_nonblocking(Pattern pattern) noexcept;

// Bytes that a rank reads from and writes to.
struct CollectiveSizes {
    std::int64_t out;
    std::int64_t in;
};
CollectiveSizes sizes_of(const Case& measured, int rank, int members) noexcept;

// Why the operation cannot have messages of that size; empty if it can.
std::string refused_size(const Case& measured, int members);

class CollectiveData {
public:
    // With a check, what lies on a device is filled and verified in a copy on the host.
    CollectiveData(const Case& measured, int rank, int members, bool check = false,
                   DeviceMemory* device = nullptr);

    CollectiveMemory memory() const;

    // Throws DeviceError, as verify does, if a copy from or to a device fails.
    void fill(std::uint64_t sample);
    // `found` keeps the first mismatch of the case.
    void verify(std::uint64_t sample, Mismatch& found);

private:
    // The host's view of a buffer.
    std::byte* out() const noexcept { return host_out_ ? host_out_->data() : out_.data(); }
    std::byte* in() const noexcept { return host_in_ ? host_in_->data() : in_.data(); }
    void fill_blocks(std::uint64_t sample) noexcept;
    void verify_blocks(std::uint64_t sample, Mismatch& found) const noexcept;
    void fill_floats(std::uint64_t sample) noexcept;
    void verify_floats(std::uint64_t sample, Mismatch& found) const noexcept;
    void verify_block(std::int64_t block, std::uint64_t seed_slot, std::uint64_t sample,
                      Mismatch& found) const noexcept;
    // The blocks of a pair of ranks have a slot of their own for the pattern's seed.
    std::uint64_t slot_of(int from, int to) const noexcept;
    // The first element of the reduced vector that this rank gets, and how many.
    std::int64_t first_element() const noexcept;
    std::int64_t elements_received() const noexcept;

    Movement movement_;
    int rank_;
    int members_;
    std::int64_t bytes_;
    bool counted_;
    Buffer out_;
    Buffer in_;
    std::optional<Buffer> host_out_;
    std::optional<Buffer> host_in_;
};

}  // namespace fabricgauge
