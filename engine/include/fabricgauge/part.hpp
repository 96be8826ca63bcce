// One rank's part in a case, by the family of its pattern.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/collective.hpp"
#include "fabricgauge/concurrent_pairs.hpp"
#include "fabricgauge/device_copies.hpp"
#include "fabricgauge/feasibility.hpp"
#include "fabricgauge/measuring.hpp"
#include "fabricgauge/neighbours.hpp"
#include "fabricgauge/records.hpp"
#include "fabricgauge/synchronised_clock.hpp"
#include "fabricgauge/together.hpp"
#include "fabricgauge/round_robin.hpp"

namespace fabricgauge {

// The memory of a rank's buffers in a pair; `device` is null if it has none.
struct PairMemory {
    MemoryOptions options;
    DeviceMemory* device = nullptr;

    // The memory kind of a rank that takes part; all ranks of a collective have the same.
    MemoryKind at(const Case& measured, int rank) const noexcept {
        return rank == measured.origin ? options.origin : options.target;
    }
    // Return true if `rank`, one of `ranks`, has buffers of the case on a device.
    bool on_device(const Case& measured, int rank, int ranks) const noexcept {
        const bool takes_part = family_of(measured.pattern) == Family::collective
                                    ? rank < members_of(measured, ranks)
                                    : rank == measured.origin || rank == measured.target;
        return takes_part && at(measured, rank) != MemoryKind::host;
    }
};

template <typename Transport, typename Clock, typename Progress>
class Part {
public:
    Part(Transport& transport, const Clock& clock, const Precision& precision,
         const PairMemory& memory, const std::vector<int>& nodes,
         const std::vector<RankProcessors>& processors, Progress& progress)
        : transport_(transport), clock_(clock), precision_(precision), memory_(memory),
          nodes_(nodes), processors_(processors), progress_(progress), common_(transport, clock) {}

    // The reason why this rank's device has no room for the case, else empty; the memory is kept
    // for take().
    std::string reserve_device_memory(const Case& measured) {
        if (!on_device(measured)) return "";
        try {
            reserved_.emplace(device_bytes(measured), memory_.device);
            return "";
        } catch (const DeviceError& error) {
            return error.what();
        }
    }
    void release_device_memory() { reserved_.reset(); }

    // Times of copies between host and device at the sizes of this rank's cases on its device, as
    // JSON; empty without a device. Managed memory has no single source of a copy.
    std::string time_copies(const std::vector<Case>& cases) const {
        if (memory_.options.device_kind() == MemoryKind::managed) return "";
        std::vector<std::int64_t> sizes;
        for (const Case& measured : cases)
            if (on_device(measured)) sizes.push_back(measured.message_bytes);
        return sizes.empty() ? "" : copies_text(copy_times(*memory_.device, sizes));
    }

    // Host memory that this rank needs for the case.
    std::int64_t memory_bytes(const Case& measured) const {
        const bool check = precision_.check_data;
        const int members = members_of(measured, transport_.ranks());
        const bool pair = family_of(measured.pattern) == Family::pair;
        // The host fills and compares one message at a time there.
        if (on_device(measured) && pair) return measured.message_bytes;
        if (on_device(measured) && !check) return 0;
        switch (family_of(measured.pattern)) {
            case Family::pair:
                return in_pair(measured) ? memory_needed_bytes(measured, check) : 0;
            case Family::concurrent_pairs:
                return concurrent_memory_bytes(measured, members, check);
            case Family::collective:
                return collective_memory_bytes(measured, transport_.rank(), members);
            case Family::round_robin: return memory_needed_bytes(measured, check);
        }
        return 0;
    }

    // Collective. Calls `around` with the work between the readings of the counters.
    template <typename Around>
    void take(const Case& measured, RankReport& report, Around&& around) {
        if constexpr (Transport::pairs_only)
            take_in_pair(measured, report, around);
        else if (family_of(measured.pattern) == Family::pair)
            take_in_pair(measured, report, around);
        else
            take_in_communicator(measured, report, around);
    }

private:
    bool in_pair(const Case& measured) const {
        return transport_.rank() == measured.origin || transport_.rank() == measured.target;
    }

    bool on_device(const Case& measured) const {
        return memory_.on_device(measured, transport_.rank(), transport_.ranks());
    }

    // Return true if this rank exposes a window to the origin of one-sided operations.
    bool shows_window(const Case& measured) const {
        return is_one_sided(measured.pattern) && transport_.rank() == measured.target;
    }

    std::int64_t device_bytes(const Case& measured) const {
        if (family_of(measured.pattern) == Family::collective)
            return collective_memory_bytes(measured, transport_.rank(),
                                           members_of(measured, transport_.ranks()));
        return shows_window(measured) ? measured.sample_payload_bytes()
                                      : slots_bytes(measured, precision_.check_data);
    }

    void tell_memory(const Case& measured, RankReport& report) const {
        if (!memory_.options.on_device()) return;
        const int rank = transport_.rank();
        report.memory = memory_of_rank(rank, memory_.at(measured, rank),
                                       on_device(measured) ? memory_.device : nullptr);
    }

    Messages messages_of(const Case& measured, std::byte* window) {
        if (reserved_)
            return {measured, precision_.check_data, *std::exchange(reserved_, {}),
                    shows_window(measured)};
        return {measured, precision_.check_data, window};
    }

    template <typename Around>
    void take_in_pair(const Case& measured, RankReport& report, Around&& around) {
        std::byte* const window = open_window(measured);
        transport_.reserve(2 * window_slots(measured));
        std::optional<Messages> messages;  // a window of their memory is closed before they go
        if (!in_pair(measured)) {
            around([&] { transport_.await_release(measured.origin); });
        } else {
            messages.emplace(messages_of(measured, window));
            tell_memory(measured, report);
            transport_.open_pair(measured, *messages);
            around([&] { exchange(measured, *messages, report); });
            report.connection = transport_.close_pair();
        }
        if (is_one_sided(measured.pattern)) transport_.close_window();
    }

    void exchange(const Case& measured, Messages& messages, RankReport& report) {
        if (transport_.rank() == measured.origin) {
            const OriginResult result =
                measure_as_origin(transport_, clock_, messages, measured, precision_);
            report.payload_sent_bytes = result.payload_bytes;
            report.measured = measured_members({result.recorder, result.stop, result.batch,
                                                result.wall_s, precision_.confidence,
                                                precision_.check_data, result.mismatch,
                                                result.compared, result.waiting});
            for (int rank = 0; rank < transport_.ranks(); ++rank)
                if (rank != measured.origin && rank != measured.target) transport_.release(rank);
        } else {
            report.payload_sent_bytes =
                measure_as_target(transport_, messages, measured).payload_bytes;
        }
    }

    std::byte* open_window(const Case& measured) {
        if (!is_one_sided(measured.pattern)) return nullptr;
        const std::int64_t bytes = measured.sample_payload_bytes();
        if constexpr (!Transport::pairs_only)
            if (memory_.options.target != MemoryKind::host) {
                std::byte* const memory = shows_window(measured) ? reserved_->data() : nullptr;
                transport_.show_window(memory, bytes, measured.origin, measured.target,
                                       measured.epoch);
                return nullptr;
            }
        return transport_.open_window(bytes, measured.origin, measured.target, measured.epoch);
    }

    template <typename Around>
    void take_in_communicator(const Case& measured, RankReport& report, Around&& around) {
        const int members = members_of(measured, transport_.ranks());
        // The launch, not the members: where its other cases have more ranks than processors, longer
        // cases of few ranks would cost a check a fifth more time, and leave it undecided all the same.
        const bool crowded = transport_.rank() == 0 &&
                             outnumber_processors(processors_, transport_.ranks());
        const Communicator communicator{transport_.rank(), members, nodes_, crowded};
        if (on_device(measured)) tell_memory(measured, report);
        transport_.open_communicator(communicator.members);
        around([&] { take_together(measured, communicator, report); });
        transport_.close_communicator();
    }

    void take_together(const Case& measured, const Communicator& communicator, RankReport& report) {
        TogetherResult result;
        if (communicator.rank < communicator.members)
            measure_together(measured, communicator, result);
        else
            transport_.await_release(0);
        if (communicator.rank == 0)
            for (int rank = communicator.members; rank < transport_.ranks(); ++rank)
                transport_.release(rank);
        result.mismatch = first_mismatch_of_all(result.mismatch);
        report.payload_sent_bytes = result.payload_bytes;
        report.measured =
            measured_members({result.recorder, result.stop, result.batch, result.wall_s,
                              precision_.confidence, precision_.check_data, result.mismatch,
                              result.compared, result.waiting});
        if (communicator.rank != 0) return;
        JsonWriter json;
        write_together(json, result.together);
        report.together = json.text();
    }

    void measure_together(const Case& measured, const Communicator& communicator,
                          TogetherResult& result) {
        switch (family_of(measured.pattern)) {
            case Family::concurrent_pairs:
                return measure_concurrent_pairs(transport_, clock_, measured, precision_,
                                                communicator, result);
            case Family::collective:
                release_device_memory();  // that there is room was agreed
                return measure_collective(transport_, clock_, common_, measured, precision_,
                                          communicator, result,
                                          on_device(measured) ? memory_.device : nullptr);
            default:
                transport_.reserve(2 * window_slots(measured));
                RoundRobin<Transport, Clock, Progress>(transport_, clock_, common_, measured,
                                                       precision_, communicator, progress_)
                    .run(result);
        }
    }

    // That of the lowest rank which found one; known to rank 0 only.
    Mismatch first_mismatch_of_all(const Mismatch& own) {
        const auto* const bytes = reinterpret_cast<const char*>(&own);
        for (const std::string& text : transport_.gather(std::string(bytes, sizeof own))) {
            Mismatch found;
            std::memcpy(&found, text.data(), sizeof found);
            if (found.found != 0) return found;
        }
        return own;
    }

    Transport& transport_;
    const Clock& clock_;
    const Precision& precision_;
    const PairMemory& memory_;
    std::optional<Buffer> reserved_;  // of the device, for the case to come
    const std::vector<int>& nodes_;
    const std::vector<RankProcessors>& processors_;
    Progress& progress_;
    SynchronisedClock<Transport, Clock> common_;
};

}  // namespace fabricgauge
