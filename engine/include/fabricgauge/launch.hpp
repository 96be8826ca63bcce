// One launch: header, placements, one record per case, footer.
//
// A template over the message layer, which has what transport.hpp asks for, and also
//
//   int ranks() const;  MpiVersion version() const
//   static constexpr bool pairs_only                      whether it has cases of one pair alone
//   std::string beyond(const Case&) const                 why it cannot have the case, else empty
//   std::string description()                             JSON for the header, collective; empty for MPI
//   void barrier()
//   std::vector<std::string> gather(const std::string&)   at rank 0, else empty
//   void broadcast(std::string&)                          from rank 0
//   void reserve(std::int64_t slots)                      for start_send and start_receive
//   std::byte* open_window(std::int64_t bytes, int origin, int target, Epoch epoch)
//   void show_window(std::byte* memory, std::int64_t bytes, int origin, int target, Epoch epoch)
//                                                         the target's memory; not if pairs_only
//   void close_window()                                   collective, all three; null but at the target
//   void open_pair(const Case&, Messages&)                of the two ranks of a case
//   std::string close_pair()                              what that took, JSON; empty for MPI
//   void release(int rank), void await_release(int from)  an idle rank waits without load
//   void open_communicator(int members), void close_communicator()  collective; the first `members` ranks
//   void quiet_barrier()                                  of the communicator, waits without load
//   std::vector<std::string> gather_in_communicator(const std::string&)   at rank 0, else empty
//   void broadcast_in_communicator(void*, std::int64_t bytes)          from rank 0
//   void minimum_in_communicator(std::int64_t*, std::int64_t n)  each becomes the least of all ranks'
//   collectives(const CollectiveMemory&)                  see collective_operations.hpp
//
// and over the host, see real_host.hpp.
#pragma once

#include <algorithm>
#include <cstdio>
#include <exception>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "fabricgauge/addresses.hpp"
#include "fabricgauge/case_list.hpp"
#include "fabricgauge/exit_status.hpp"
#include "fabricgauge/feasibility.hpp"
#include "fabricgauge/losses.hpp"
#include "fabricgauge/neighbours.hpp"
#include "fabricgauge/output.hpp"
#include "fabricgauge/pair_limits.hpp"
#include "fabricgauge/part.hpp"
#include "fabricgauge/placement.hpp"
#include "fabricgauge/records.hpp"
#include "fabricgauge/sockets.hpp"
#include "fabricgauge/watchdog.hpp"

namespace fabricgauge {

struct LaunchSettings {
    Precision precision;
    ClockQuality clock;
    PairMemory memory;
    double grace_s;
    std::string interface;
};

template <typename Transport, typename Host>
class Launch {
public:
    // `output` is null on every rank but 0.
    Launch(Transport& transport, Output* output, const LaunchSettings& settings)
        : transport_(transport), output_(output), settings_(settings),
          placement_(Host::placement()), node_(meet_neighbours()),
          evidence_(transport.rank(), placement_.host, node_.lowest),
          part_(transport, clock_, settings.precision, settings.memory, nodes_, processors_, *this) {}

    void run(const std::vector<Case>& cases) {
        const std::int64_t began_ns = clock_.now_ns();
        announce(cases);
        for (const Case& measured : cases) run_case(measured);
        write(footer_record(cases.size(), static_cast<double>(clock_.now_ns() - began_ns) * 1e-9));
    }

    // Reports of a round robin's progress.
    void step(const Case& measured) { guard(measured); }
    void round_made(const Case& measured, int round, int rounds, double wall_s,
                    const std::vector<PairTime>& times,
                    const std::optional<double>& clock_error_s) {
        write(round_record(measured, round, rounds, wall_s, times, clock_error_s));
        guard(measured);
    }

private:
    // The other ranks wait longer than rank 0, which has the record to write: MPI's launchers join the
    // exit statuses of all ranks, so a rank that ends beside rank 0 would change the reason.
    static constexpr double grace_of_others_s = 2.0;
    static constexpr char losing = '!', not_losing = '.';

    bool is_first() const { return transport_.rank() == 0; }

    // The other ranks wait meanwhile: a disk that hangs must not look to them like a case without end.
    void write(const std::string& record) {
        if (output_ == nullptr) return;
        guarded_ = nullptr;
        watchdog_.disarm();
        watchdog_.prepare({exit_output, output_->hangs(), output_, ""});
        watchdog_.arm(settings_.grace_s + grace_of_others_s / 2);
        output_->line(record);
        watchdog_.disarm();
    }

    // Every rank learns the node of every other; rank 0 also keeps the names for messages.
    Neighbours meet_neighbours() {
        std::string all;
        for (const std::string& told :
             transport_.gather(placement_.node_key() + '\t' + placement_.boot_id + '\t' +
                               placement_.cpus_allowed + '\t' + Host::addresses()))
            all += told + '\n';
        transport_.broadcast(all);
        std::istringstream lines(all);
        std::vector<std::string> keys, addresses;
        std::string key, list;
        for (RankProcessors place;
             std::getline(lines, key, '\t') && std::getline(lines, place.machine, '\t') &&
             std::getline(lines, place.allowed, '\t') && std::getline(lines, list);) {
            hosts_.push_back(key.substr(0, key.find('|')));
            keys.push_back(key);
            addresses.push_back(list);
            processors_.push_back(place);
        }
        nodes_ = nodes_of(keys);
        for (std::size_t rank = 0; rank < keys.size(); ++rank)
            addresses_.add(nodes_[rank], addresses[rank]);
        return neighbours_of(keys, transport_.rank());
    }

    void announce(const std::vector<Case>& cases) {
        write(header_record(transport_.version(), transport_.ranks(),
                            {Host::Clock::name, settings_.clock, Host::simulated},
                            Host::libraries(), transport_.description(), settings_.memory.options));
        JsonWriter own;
        write_placement(own, transport_.rank(), placement_, settings_.interface, time_copies(cases));
        for (const std::string& record : transport_.gather(own.text())) write(record);
    }

    // The ranks of a node copy in turns: side by side they would share the GPU, or its way to memory.
    std::string time_copies(const std::vector<Case>& cases) {
        if (settings_.memory.options.device_kind() == MemoryKind::host) return "";
        std::map<int, int> ranks_by_node;
        int own_turn = 0, turns = 0;
        for (std::size_t rank = 0; rank < nodes_.size(); ++rank) {
            const int turn = ranks_by_node[nodes_[rank]]++;
            if (static_cast<int>(rank) == transport_.rank()) own_turn = turn;
            turns = std::max(turns, turn + 1);
        }
        std::string copies;
        for (int turn = 0; turn < turns; ++turn) {
            if (turn == own_turn) copies = part_.time_copies(cases);
            transport_.gather("");
            std::string all_are_done;
            transport_.broadcast(all_are_done);
        }
        return copies;
    }

    void run_case(const Case& measured) {
        std::string missing = missing_ranks(measured, transport_.ranks());
        if (missing.empty()) missing = transport_.beyond(measured);
        if (missing.empty()) missing = beyond_memory(measured, settings_.memory.options);
        if (missing.empty())
            missing = beyond_buffers(measured, settings_.precision.check_data, Transport::pairs_only);
        if (!missing.empty()) return write_unmeasured(measured, {"skipped", missing});
        guard(measured);
        Outcome unmeasured{"failed", agree_before(measured)};
        if (unmeasured.reason.empty() && losses_.spares(measured))
            unmeasured = {"skipped", Losses::reason};
        if (!unmeasured.reason.empty()) {
            part_.release_device_memory();
            watchdog_.disarm();
            return write_unmeasured(measured, unmeasured);
        }
        const Case timed = losses_.in_time_for(measured);
        write_measured(timed, gather_reports(timed));
    }

    // The state of a launch after a failed call is unknown: the record contains the failure, then
    // all ranks end.
    std::vector<std::string> gather_reports(const Case& measured) {
        try {
            std::vector<std::string> packed = transport_.gather(pack(measure(measured)));
            watchdog_.disarm();
            return packed;
        } catch (const std::exception& error) {
            watchdog_.disarm();
            write_unmeasured(measured, {"failed", failure_of(error).text});
            throw;
        }
    }

    RankReport measure(const Case& measured) {
        RankReport report;
        part_.take(measured, report, [&](auto&& do_part) {
            transport_.barrier();
            evidence_.before();
            // No message of the case may arrive before every rank has read its counters.
            transport_.barrier();
            do_part();
            transport_.barrier();
            evidence_.after(report, [&](auto seen) {
                losses_.add(measured, seen);
                return needed_of(std::move(seen), measured);
            });
            // Nor may the reports be on their way before that.
            transport_.barrier();
        });
        return report;
    }

    // The connections that carried the case: for a pair those between its ends, else all of a local
    // address as one. A record of every connection of every rank would grow with the square of
    // their number.
    Sockets needed_of(Sockets seen, const Case& measured) const {
        if (family_of(measured.pattern) != Family::pair) return by_local_address(seen);
        const int own = transport_.rank();
        if (own != measured.origin && own != measured.target) return {};
        const int peer = own == measured.origin ? measured.target : measured.origin;
        const int node = nodes_[static_cast<std::size_t>(peer)];
        Sockets needed;
        for (auto& [inode, state] : seen)
            if (has_carried(state) && !addresses_.is_elsewhere(state.remote, node))
                needed[inode] = std::move(state);
        return needed;
    }

    // The reason of the lowest rank that has too little memory, known to every rank, as is whether
    // any rank's connections have lost much.
    std::string agree_before(const Case& measured) {
        std::string own = missing_memory(
            part_.memory_bytes(measured),
            memory_available_bytes().value_or(std::numeric_limits<std::int64_t>::max()),
            node_.on_node, placement_.host);
        if (own.empty()) own = part_.reserve_device_memory(measured);
        std::string agreed(1, not_losing), first;
        for (const std::string& told : transport_.gather((losses_.heavy() ? losing : not_losing) + own)) {
            if (told.front() == losing) agreed.front() = losing;
            if (first.empty()) first = told.substr(1);
        }
        agreed += first;
        transport_.broadcast(agreed);
        losses_.agree(agreed.front() == losing);
        return agreed.substr(1);
    }

    void write_unmeasured(const Case& measured, const Outcome& outcome) {
        write(case_record(measured, outcome, unmeasured_members(settings_.precision.check_data), {}));
    }

    void write_measured(const Case& measured, const std::vector<std::string>& packed) {
        if (!is_first()) return;
        std::vector<RankReport> reports;
        for (const std::string& text : packed) reports.push_back(unpack(text));
        const bool pair = family_of(measured.pattern) == Family::pair;
        const std::size_t author = pair ? static_cast<std::size_t>(measured.origin) : 0;
        write(case_record(measured, {"ok", ""}, reports[author].measured, reports));
    }

    void guard(const Case& measured) {
        // A round robin comes here once for each of its pairs.
        if (guarded_ != &measured) prepare_to_give_up(measured);
        // Both directions of a round robin's pair have the budget.
        const double parts = family_of(measured.pattern) == Family::round_robin ? 2.0 : 1.0;
        const double limit_s = parts * measured.budget_s + settings_.grace_s;
        // Rank 0 may reach a disk that hangs only at its own limit.
        watchdog_.arm(is_first() ? limit_s : limit_s + settings_.grace_s + grace_of_others_s);
    }

    // The main thread may hang in the message layer, so this prepares the whole last record.
    void prepare_to_give_up(const Case& measured) {
        guarded_ = &measured;
        LastWords words{exit_timeout, "", output_, ""};
        if (is_first()) {
            const std::string limit = passed_limit(measured);
            LastLines usual = lines_of_timeout(
                measured,
                limit + ": the network between them carries nothing any more, or one sample takes longer");
            words.message = std::move(usual.message);
            words.record = std::move(usual.record);
            words.if_waiting = lines_of_timeout(
                measured, limit + ": " + name_of_rank(0) +
                              " waited for a processor in a quarter of that time or more, so the"
                              " host may be the cause");
        }
        watchdog_.prepare(std::move(words));
    }

    LastLines lines_of_timeout(const Case& measured, const std::string& reason) const {
        return {"fabricgauge-engine: " + measured.name + ": " + reason + '\n',
                case_record(measured, {"timeout", reason},
                            unmeasured_members(settings_.precision.check_data), {}) + '\n'};
    }

    std::string passed_limit(const Case& measured) const {
        char limits[96];
        std::snprintf(limits, sizeof limits, "no end within the budget of %g s and %g s of grace",
                      measured.budget_s, settings_.grace_s);
        const std::string where = family_of(measured.pattern) == Family::pair
                                      ? " between " + name_of_rank(measured.origin) + " and " +
                                            name_of_rank(measured.target)
                                      : " among " + std::to_string(transport_.ranks()) + " ranks";
        return limits + where;
    }

    std::string name_of_rank(int rank) const {
        return hosts_[static_cast<std::size_t>(rank)] + " (rank " + std::to_string(rank) + ")";
    }

    Transport& transport_;
    Output* output_;
    const LaunchSettings& settings_;
    typename Host::Clock clock_;
    Placement placement_;
    std::vector<std::string> hosts_;
    std::vector<int> nodes_;  // of each rank
    std::vector<RankProcessors> processors_;
    NodeAddresses addresses_;
    Neighbours node_;
    typename Host::Evidence evidence_;
    typename Host::Watchdog watchdog_;
    Losses losses_;
    const Case* guarded_ = nullptr;  // the case of the watchdog's last message
    Part<Transport, typename Host::Clock, Launch> part_;
};

}  // namespace fabricgauge
