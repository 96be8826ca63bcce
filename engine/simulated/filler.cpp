#include "filler.hpp"

#include <smpi/smpi.h>

#include <algorithm>

namespace simgrid::kernel::activity {
class CommImpl;
}

// SMPI's own, which its library exports and no header of it declares. It also frees what a sender
// left behind, so it is called for every message.
void smpi_comm_copy_buffer_callback(simgrid::kernel::activity::CommImpl* communication, void* data,
                                    std::size_t bytes);

namespace fabricgauge::simulated {

namespace {

constexpr std::size_t looked_at = 256;

void copy(smx_activity_t communication, void* data, std::size_t bytes) {
    auto* const own = reinterpret_cast<simgrid::kernel::activity::CommImpl*>(communication);
    smpi_comm_copy_buffer_callback(own, data, is_filler(data, bytes) ? looked_at : bytes);
}

}  // namespace

bool is_filler(const void* data, std::size_t bytes) noexcept {
    if (bytes < shortest_left_out) return false;
    const auto* const first = static_cast<const unsigned char*>(data);
    const auto* const last = first + bytes - looked_at;
    const auto filled = [](unsigned char byte) { return byte == filler; };
    return std::all_of(first, first + looked_at, filled) &&
           std::all_of(last, last + looked_at, filled);
}

void leave_filler_out() { smpi_comm_set_copy_data_callback(copy); }

}  // namespace fabricgauge::simulated
