// What a launch over verbs is told; without a word of it the usual is found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fabricgauge {

// More than drivers copy without loss of time; less is taken where a device has less.
constexpr int usual_inline_bytes = 220;
// As many as a usual window has messages.
constexpr int usual_signal_interval = 64;

// Reliable connected, unreliable connected, unreliable datagram: only the first sends again what was
// lost, and tells of the arrival.
enum class QueuePairKind { rc, uc, ud };

const char* name_of(QueuePairKind kind) noexcept;

struct VerbsOptions {
    QueuePairKind queue_pair = QueuePairKind::rc;
    int queue_pairs = 1;             // of a case, for its window
    std::vector<std::string> ports;  // device:port; the first that a node has
    std::optional<int> gid_index;
    std::string gid_subnet;
    std::optional<int> inline_bytes;
    std::optional<int> path_mtu_bytes;
    int signal_interval = usual_signal_interval;
    int traffic_class = 0;
    int service_level = 0;
};

}  // namespace fabricgauge
