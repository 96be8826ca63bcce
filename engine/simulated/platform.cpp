// A platform for SimGrid that loads another one and plants into it what the file says that the
// environment's FABRICGAUGE_PLANTED names. A deadlock ends the program with a status: SimGrid's
// own is 0.
#include <simgrid/kernel/ProfileBuilder.hpp>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <unordered_set>

#include "fabricgauge/exit_status.hpp"
#include "planted.hpp"
#include "routes.hpp"
#include "stretching.hpp"

namespace fabricgauge::simulated {

namespace {

namespace s4u = simgrid::s4u;
namespace profile = simgrid::kernel::profile;

[[noreturn]] void give_up(int status, const char* what) {
    std::fprintf(stderr, "fabricgauge-engine: simulated cluster: %s\n", what);
    std::fflush(nullptr);
    std::_Exit(status);
}

// Of a link at a time there may be one profile only, so the name is the link's.
void flap(s4u::Link* link, const FlappingFault& fault) {
    const auto values = [fault](std::vector<profile::DatedValue>& into) {
        into.emplace_back(0, fault.factor);
        into.emplace_back(fault.period_s * fault.share, 1);
    };
    link->set_bandwidth_profile(profile::ProfileBuilder::from_callback(
        "flapping " + link->get_name(), values, fault.period_s * (1 - fault.share)));
}

void plant_uplink(const s4u::Engine& engine, const UplinkFault& fault) {
    const Links links = uplinks_of(engine, fault.nodes, fault.way);
    const int count = static_cast<int>(links.size());
    if (fault.index >= count)
        throw PlantedError("the group of " + fault.nodes.front() + " has " +
                           std::to_string(count) + " uplinks, the first is number 0");
    for (int i = 0; i < count; ++i)
        if (fault.index == UplinkFault::all || fault.index == i)
            links[i]->set_bandwidth(links[i]->get_bandwidth() * fault.factor);
}

void plant_links(const s4u::Engine& engine, const Planted& planted) {
    for (const RateFault& fault : planted.rates)
        for (s4u::Link* const link : links_of(engine, fault.node, fault.way))
            link->set_bandwidth(link->get_bandwidth() * fault.factor);
    for (const LatencyFault& fault : planted.latencies)
        for (s4u::Link* const link : links_of(engine, fault.node, fault.way))
            link->set_latency(link->get_latency() + fault.added_s);
    for (const UplinkFault& fault : planted.uplinks) plant_uplink(engine, fault);
    for (const FlappingFault& fault : planted.flapping)
        for (s4u::Link* const link : links_of(engine, fault.node, fault.way)) flap(link, fault);
}

void plant_stretching(const s4u::Engine& engine, const Planted& planted) {
    if (planted.deviation == 0 && planted.noisy.empty() && planted.pairs.empty()) return;
    using ZoneSet = std::unordered_set<s4u::NetZone*>;
    const auto stretching = std::make_shared<Stretching>(planted, engine);
    auto* const model = engine.get_netzone_root()->get_network_model();
    model->set_lat_factor_cb([stretching](double, const s4u::Host* from, const s4u::Host* to,
                                          const std::vector<s4u::Link*>&, const ZoneSet&) {
        return stretching->latency_factor(from, to);
    });
    model->set_bw_factor_cb([stretching](double, const s4u::Host* from, const s4u::Host* to,
                                         const std::vector<s4u::Link*>&, const ZoneSet&) {
        return stretching->rate_factor(from, to);
    });
}

Planted planted_of_environment() {
    const char* const path = std::getenv("FABRICGAUGE_PLANTED");
    if (path == nullptr) throw PlantedError("FABRICGAUGE_PLANTED names no file");
    std::ifstream file(path);
    if (!file) throw PlantedError(std::string("cannot read ") + path);
    return read_planted(file);
}

void load(const s4u::Engine& engine) {
    const Planted planted = planted_of_environment();
    engine.load_platform(planted.platform);
    engine.seal_platform();
    plant_links(engine, planted);
    plant_stretching(engine, planted);
    s4u::Engine::on_deadlock_cb([] {
        give_up(exit_mpi, "deadlock: ranks wait for messages that nobody sends, or one aborted");
    });
}

}  // namespace

}  // namespace fabricgauge::simulated

// SimGrid calls the function of this name in a platform that is a library.
extern "C" void load_platform(const simgrid::s4u::Engine& engine) {
    using namespace fabricgauge;
    try {
        simulated::load(engine);
    } catch (const std::exception& error) {
        simulated::give_up(exit_usage, error.what());
    }
}
