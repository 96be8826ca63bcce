// Messages whose content nobody reads are not copied: copying takes most of a simulation's time.
#pragma once

#include <cstddef>

namespace fabricgauge::simulated {

// The byte that the engine's buffers hold unless data are checked (src/messages.cpp).
constexpr unsigned char filler = 0x5a;

// Shorter messages are copied whatever they hold.
constexpr std::size_t shortest_left_out = 4096;

// Whether the message begins and ends with the engine's filler, so that its receiver, which has the
// same, misses nothing. What a rank reports is text, and patterns of a data check are not constant.
bool is_filler(const void* data, std::size_t bytes) noexcept;

// To be called before the simulation begins.
void leave_filler_out();

}  // namespace fabricgauge::simulated
