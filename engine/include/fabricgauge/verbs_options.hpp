// The options of a launch over verbs; those that are not set have usual values.
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

// Reliable connected, unreliable connected, unreliable datagram, extended reliable connected. An
// extended connection has a queue pair for each direction; a message names its queue of receives.
enum class QueuePairKind { rc, uc, ud, xrc };

const char* name_of(QueuePairKind kind) noexcept;

// Return true if the kind sends lost data again and confirms the arrival.
constexpr bool is_reliable(QueuePairKind kind) noexcept {
    return kind == QueuePairKind::rc || kind == QueuePairKind::xrc;
}

// The delivery of a message: by a send; by a write that completes a posted receive; or by a write
// whose last byte the receiver polls.
enum class MessagesBy { send, write_imm, write };

const char* name_of(MessagesBy way) noexcept;

struct VerbsOptions {
    QueuePairKind queue_pair = QueuePairKind::rc;
    int queue_pairs = 1;             // of a case, for its window
    bool shared_receives = false;    // one queue of receives for all queue pairs of a case
    MessagesBy messages_by = MessagesBy::send;
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
