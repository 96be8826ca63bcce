// A platform for SimGrid that loads another one and plants into it what the file says that the
// environment's FABRICGAUGE_PLANTED names. A deadlock ends the program with a status: SimGrid's
// own is 0.
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <unordered_set>

#include "fabricgauge/exit_status.hpp"
#include "filler.hpp"
#include "planted.hpp"
#include "routes.hpp"
#include "stretching.hpp"

namespace fabricgauge::simulated {

namespace {

namespace s4u = simgrid::s4u;

[[noreturn]] void give_up(int status, const char* what) {
    std::fprintf(stderr, "fabricgauge-engine: simulated cluster: %s\n", what);
    std::fflush(nullptr);
    std::_Exit(status);
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
}

void plant_stretching(const s4u::Engine& engine, const Planted& planted) {
    using ZoneSet = std::unordered_set<s4u::NetZone*>;
    const auto stretching = std::make_shared<Stretching>(planted, engine);
    auto* const model = engine.get_netzone_root()->get_network_model();
    model->set_lat_factor_cb([stretching](double, const s4u::Host* from, const s4u::Host* to,
                                          const std::vector<s4u::Link*>& links, const ZoneSet&) {
        return stretching->latency_factor(from, to, links);
    });
    model->set_bw_factor_cb([stretching](double bytes, const s4u::Host* from, const s4u::Host* to,
                                         const std::vector<s4u::Link*>& links, const ZoneSet&) {
        return stretching->rate_factor(from, to, bytes, links);
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
    leave_filler_out();
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
        simulated::give_up(exit_options, error.what());
    }
}
