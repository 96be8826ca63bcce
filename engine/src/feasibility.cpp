#include "fabricgauge/feasibility.hpp"

#include <algorithm>

namespace fabricgauge {

namespace {

std::string mebibytes(std::int64_t bytes) {
    return std::to_string((bytes + (std::int64_t{1} << 20) - 1) >> 20) + " MiB";
}

}  // namespace

std::string missing_ranks(const Case& measured, int ranks) {
    const std::string launch =
        "this launch has " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
    if (ranks < 2) return std::string(name_of(measured.pattern)) + " needs 2 ranks, " + launch;
    const int highest = std::max(measured.origin, measured.target);
    if (highest >= ranks) return "rank " + std::to_string(highest) + " does not exist, " + launch;
    if (measured.origin == measured.target)
        return "origin and target are both rank " + std::to_string(measured.origin) + ", " +
               name_of(measured.pattern) + " needs 2 different ranks";
    return "";
}

std::string missing_memory(std::int64_t needed_bytes, std::int64_t available_bytes, int ranks_on_node,
                           const std::string& host) {
    const std::int64_t allowed_bytes = available_bytes / 2 / std::max(1, ranks_on_node);
    if (needed_bytes <= allowed_bytes) return "";
    return host + " has too little memory: the case needs " + mebibytes(needed_bytes) +
           " on a rank, " + mebibytes(allowed_bytes) +
           " are allowed (half of what is available, shared among the ranks of the node); choose a "
           "smaller window or message";
}

}  // namespace fabricgauge
