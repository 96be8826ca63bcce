#include "fabricgauge/load_stream.hpp"

namespace fabricgauge {

// One message for all that is sent, one for each pending receive.
std::int64_t load_memory_bytes(const LoadRoute& route) noexcept {
    const std::size_t messages = 1 + std::min(route.sources.size(), most_load_receives);
    return static_cast<std::int64_t>(messages) * load_message_bytes;
}

}  // namespace fabricgauge
