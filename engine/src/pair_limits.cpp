#include "fabricgauge/pair_limits.hpp"

#include "fabricgauge/collective_memory.hpp"
#include "fabricgauge/concurrent_roles.hpp"

namespace fabricgauge {

namespace {

constexpr std::int64_t word_bytes = 8;

std::string said(std::int64_t number) { return std::to_string(number); }

std::string beyond_size(const Case& measured) {
    const std::string name = name_of(measured.pattern);
    const std::string size = said(measured.message_bytes) + " B";
    switch (measured.pattern) {
        case Pattern::accumulate_latency:
            if (measured.message_bytes % word_bytes == 0) return "";
            return name + " adds integers of 8 B, and " + size + " is no multiple of that";
        case Pattern::fetch_and_op_latency:
        case Pattern::compare_and_swap_latency:
            if (measured.message_bytes == word_bytes) return "";
            return name + " works on one integer of 8 B, not on " + size;
        default: return "";
    }
}

std::string beyond_threads(const Case& measured, const std::string& thread_level) {
    const std::string name = name_of(measured.pattern);
    if (!is_threaded(measured.pattern))
        return measured.threads == 1
                   ? ""
                   : name + " has no threads: leave out threads=" + said(measured.threads);
    if (thread_level == "MPI_THREAD_MULTIPLE") return "";
    return name + " needs MPI_THREAD_MULTIPLE, this launch has " + thread_level +
           ": start the engine with --thread-multiple; if it was, this MPI does not have it";
}

// Return true if the pattern only moves its buffers: they may then lie anywhere. Other patterns
// calculate on them, or are of many pairs.
bool only_moves(Pattern pattern) {
    switch (family_of(pattern)) {
        case Family::pair:
            return pattern != Pattern::accumulate_latency &&
                   pattern != Pattern::fetch_and_op_latency &&
                   pattern != Pattern::compare_and_swap_latency;
        case Family::collective:
            return movement_of(pattern) != Movement::nothing && !is_reduction(movement_of(pattern));
        default: return false;
    }
}

// One-sided operations, neighbours in a ring and collectives have memory of another kind.
bool has_buffers_of_messages(Pattern pattern) {
    switch (family_of(pattern)) {
        case Family::pair: return !is_one_sided(pattern);
        case Family::concurrent_pairs: return !is_ring(pattern);
        case Family::collective: return false;
        case Family::round_robin: return true;
    }
    return false;
}

}  // namespace

std::string beyond_pair(const Case& measured, const std::string& thread_level) {
    if (family_of(measured.pattern) != Family::pair) return "";
    if (measured.epoch != Epoch::flush && !is_one_sided(measured.pattern))
        return std::string(name_of(measured.pattern)) +
               " is not one-sided: leave out epoch=" + name_of(measured.epoch);
    const std::string size = beyond_size(measured);
    return size.empty() ? beyond_threads(measured, thread_level) : size;
}

std::string beyond_memory(const Case& measured, const MemoryOptions& memory) {
    if (!memory.on_device()) return "";
    const std::string name = name_of(measured.pattern);
    const char* const kind = name_of(memory.device_kind());
    if (!only_moves(measured.pattern))
        return name + " has host memory only: leave out --memory " + kind;
    if (family_of(measured.pattern) == Family::collective && memory.origin != memory.target)
        return name + " has no origin and target: take --memory " + kind;
    return "";
}

std::string beyond_buffers(const Case& measured, bool check_data, bool only_pairs) {
    if (measured.buffers == Buffers::fewest) return "";
    const std::string name = name_of(measured.pattern);
    const std::string key = std::string("buffers=") + name_of(measured.buffers);
    if (!has_buffers_of_messages(measured.pattern))
        return name + " has no buffers of messages to choose: leave out " + key;
    if (measured.buffers != Buffers::single || !has_window(measured.pattern)) return "";
    if (check_data)
        return name + " with " + key + " keeps only the last message of a window: leave out --check-data";
    if (only_pairs) return name + " with " + key + " lets receives overlap: measure it over MPI";
    return "";
}

std::string beyond_abilities(const Case& measured, Abilities abilities, const std::string& who) {
    const Abilities needed = ability_for(measured.pattern);
    if (needed == Abilities::atomics && abilities < Abilities::atomics)
        return who + " have no atomic operations here";
    if (abilities < needed)
        return who + " have no " + name_of(measured.pattern) + ": measure it over MPI";
    if (measured.epoch != Epoch::flush && is_one_sided(measured.pattern))
        return who + " have no epoch=" + name_of(measured.epoch) + ": leave it out";
    return beyond_pair(measured, "MPI_THREAD_SINGLE");
}

}  // namespace fabricgauge
