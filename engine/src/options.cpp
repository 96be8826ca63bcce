#include "fabricgauge/options.hpp"

#include <functional>
#include <map>
#include <optional>
#include <sstream>

#include "fabricgauge/number.hpp"

namespace fabricgauge {

namespace {

using Setter = std::function<void(Options&, const std::string& value)>;

[[noreturn]] void expected(const std::string& value, const std::string& what) {
    throw OptionsError("'" + value + "' is not understood; expected " + what);
}

double share(const std::string& text) {
    const std::optional<double> value = real_number(text);
    if (!value || *value <= 0.0 || *value >= 1.0) expected(text, "a share between 0 and 1");
    return *value;
}

double seconds(const std::string& text) {
    const std::optional<double> value = real_number(text);
    if (!value || *value < 0.0 || *value > 86'400.0) expected(text, "seconds from 0 to 86400");
    return *value;
}

std::int64_t positive(const std::string& text) {
    const std::optional<std::int64_t> value = whole_number(text);
    if (!value || *value < 1) expected(text, "a whole number of at least 1");
    return *value;
}

std::string variable_name(const std::string& text) {
    if (text.empty() || text.find('=') != std::string::npos)
        expected(text, "the name of an environment variable");
    return text;
}

int whole_in(const std::string& text, std::int64_t least, std::int64_t most) {
    const std::optional<std::int64_t> value = whole_number(text);
    if (!value || *value < least || *value > most)
        expected(text, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return static_cast<int>(*value);
}

Carrier carrier_in(const std::string& text) {
    for (const Carrier carrier : {Carrier::mpi, Carrier::sockets, Carrier::ofi, Carrier::verbs})
        if (text == name_of(carrier)) return carrier;
    expected(text, "mpi, sockets, ofi or verbs");
}

// An option of one carrier, which --transport names before it.
void require_carrier(const Options& options, Carrier carrier) {
    if (options.transport != carrier)
        throw OptionsError(std::string("it needs --transport ") + name_of(carrier) + " before it");
}

VerbsOptions& verbs_of(Options& options) {
    require_carrier(options, Carrier::verbs);
    return options.verbs;
}

int& traffic_class_of(Options& options) {
    if (options.transport == Carrier::sockets) return options.sockets_traffic_class;
    return verbs_of(options).traffic_class;
}

MemoryKind kind_of_memory(const std::string& text) {
    for (const MemoryKind kind :
         {MemoryKind::host, MemoryKind::cuda, MemoryKind::hip, MemoryKind::managed})
        if (text == name_of(kind)) return kind;
    expected(text, "host, cuda, hip or managed");
}

// "cuda" is both ends, "cuda,host" origin and target.
void set_memory(MemoryOptions& memory, const std::string& text) {
    const std::size_t comma = text.find(',');
    memory.origin = kind_of_memory(text.substr(0, comma));
    memory.target = comma == std::string::npos ? memory.origin : kind_of_memory(text.substr(comma + 1));
    const bool one_host = memory.origin == MemoryKind::host || memory.target == MemoryKind::host;
    if (!one_host && memory.origin != memory.target)
        expected(text, "the same kind of device memory at both ends, or host memory at one");
}

void require_mpi_for_memory(const Options& options) {
    if (options.memory.device && !options.memory.on_device())
        throw OptionsError("--device needs --memory cuda, hip or managed");
    if (options.memory.on_device() && options.transport != Carrier::mpi)
        throw OptionsError(std::string("--memory ") + name_of(options.memory.device_kind()) +
                           " needs --transport mpi: the engine's own " + name_of(options.transport) +
                           " send from host memory");
}

OfiOptions& ofi_of(Options& options) {
    require_carrier(options, Carrier::ofi);
    return options.ofi;
}

bool tagged_in(const std::string& text) {
    if (text != "tagged" && text != "plain") expected(text, "tagged or plain");
    return text == "tagged";
}

std::vector<std::string> names_in(const std::string& text) {
    std::vector<std::string> names;
    std::istringstream list(text);
    for (std::string name; std::getline(list, name, ',');) names.push_back(name);
    if (names.empty()) expected(text, "names, separated by commas");
    return names;
}

QueuePairKind kind_in(const std::string& text) {
    for (const QueuePairKind kind :
         {QueuePairKind::rc, QueuePairKind::uc, QueuePairKind::ud, QueuePairKind::xrc})
        if (text == name_of(kind)) return kind;
    expected(text, "rc, uc, ud or xrc");
}

MessagesBy way_in(const std::string& text) {
    for (const MessagesBy way : {MessagesBy::send, MessagesBy::write_imm, MessagesBy::write})
        if (text == name_of(way)) return way;
    expected(text, "send, write-imm or write");
}

bool yes_in(const std::string& text) {
    if (text != "yes" && text != "no") expected(text, "yes or no");
    return text == "yes";
}

int mtu_in(const std::string& text) {
    for (const int mtu : {256, 512, 1024, 2048, 4096})
        if (text == std::to_string(mtu)) return mtu;
    expected(text, "256, 512, 1024, 2048 or 4096");
}

void require_verifiable(const VerbsOptions& verbs) {
    const bool by_sends = verbs.messages_by == MessagesBy::send;
    if (verbs.messages_by == MessagesBy::write)
        throw OptionsError("--check-data cannot verify --messages-by write: the last byte of a"
                           " message is what tells of it; take write-imm");
    if (verbs.shared_receives && verbs.queue_pairs > 1 && by_sends)
        throw OptionsError("--check-data cannot verify sends of several queue pairs with"
                           " --shared-receives: no message has a place of its own; take"
                           " --messages-by write-imm");
}

const std::map<std::string, Setter>& valued_options() {
    static const std::map<std::string, Setter> table = {
        {"--half-width", [](Options& o, auto& v) { o.stopping.relative_half_width = share(v); }},
        {"--confidence", [](Options& o, auto& v) { o.stopping.confidence = share(v); }},
        {"--iterations", [](Options& o, auto& v) { o.stopping.iterations = positive(v); }},
        {"--pin", [](Options& o, auto& v) { o.pin.subnet = v; }},
        {"--interface-env",
         [](Options& o, auto& v) { o.pin.interface_variables.push_back(variable_name(v)); }},
        {"--grace", [](Options& o, auto& v) { o.grace_s = seconds(v); }},
        {"--memory", [](Options& o, auto& v) { set_memory(o.memory, v); }},
        {"--device", [](Options& o, auto& v) { o.memory.device = whole_in(v, 0, 1023); }},
        {"--output", [](Options& o, auto& v) { o.output = v; }},
        {"--transport", [](Options& o, auto& v) { o.transport = carrier_in(v); }},
        {"--provider", [](Options& o, auto& v) { ofi_of(o).provider = v; }},
        {"--domain", [](Options& o, auto& v) { ofi_of(o).domains = names_in(v); }},
        {"--messages", [](Options& o, auto& v) { ofi_of(o).tagged = tagged_in(v); }},
        {"--rdma-ports", [](Options& o, auto& v) { verbs_of(o).ports = names_in(v); }},
        {"--queue-pair", [](Options& o, auto& v) { verbs_of(o).queue_pair = kind_in(v); }},
        {"--queue-pairs", [](Options& o, auto& v) { verbs_of(o).queue_pairs = whole_in(v, 1, 16'384); }},
        {"--shared-receives", [](Options& o, auto& v) { verbs_of(o).shared_receives = yes_in(v); }},
        {"--messages-by", [](Options& o, auto& v) { verbs_of(o).messages_by = way_in(v); }},
        {"--gid-index", [](Options& o, auto& v) { verbs_of(o).gid_index = whole_in(v, 0, 255); }},
        {"--gid-subnet", [](Options& o, auto& v) { verbs_of(o).gid_subnet = v; }},
        {"--inline", [](Options& o, auto& v) { verbs_of(o).inline_bytes = whole_in(v, 0, 65'536); }},
        {"--path-mtu", [](Options& o, auto& v) { verbs_of(o).path_mtu_bytes = mtu_in(v); }},
        {"--signal-interval",
         [](Options& o, auto& v) { verbs_of(o).signal_interval = whole_in(v, 1, 65'536); }},
        {"--traffic-class", [](Options& o, auto& v) { traffic_class_of(o) = whole_in(v, 0, 255); }},
        {"--service-level", [](Options& o, auto& v) { verbs_of(o).service_level = whole_in(v, 0, 15); }},
    };
    return table;
}

const std::map<std::string, std::function<void(Options&)>>& switches() {
    static const std::map<std::string, std::function<void(Options&)>> table = {
        {"--check-data", [](Options& o) { o.check_data = true; }},
        {"--thread-multiple", [](Options& o) { o.thread_multiple = true; }},
        {"--version", [](Options& o) { o.version = true; }},
    };
    return table;
}

void set_valued(Options& options, const std::string& name, const std::string& value) {
    try {
        valued_options().at(name)(options, value);
    } catch (const OptionsError& error) {
        throw OptionsError(name + ": " + error.what());
    }
}

}  // namespace

const char* name_of(Carrier carrier) noexcept {
    switch (carrier) {
        case Carrier::mpi: return "mpi";
        case Carrier::sockets: return "sockets";
        case Carrier::ofi: return "ofi";
        case Carrier::verbs: return "verbs";
    }
    return "";
}

const char* name_of(QueuePairKind kind) noexcept {
    switch (kind) {
        case QueuePairKind::rc: return "rc";
        case QueuePairKind::uc: return "uc";
        case QueuePairKind::ud: return "ud";
        case QueuePairKind::xrc: return "xrc";
    }
    return "";
}

const char* name_of(MessagesBy way) noexcept {
    switch (way) {
        case MessagesBy::send: return "send";
        case MessagesBy::write_imm: return "write-imm";
        case MessagesBy::write: return "write";
    }
    return "";
}

Options parse_options(const std::vector<std::string>& arguments) {
    Options options;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::size_t equals = arguments[i].find('=');
        const std::string name = arguments[i].substr(0, equals);
        const auto found = switches().find(arguments[i]);
        if (found != switches().end()) {
            found->second(options);
        } else if (valued_options().count(name) == 0) {
            throw OptionsError("the option " + arguments[i] + " is not known");
        } else if (equals != std::string::npos) {
            set_valued(options, name, arguments[i].substr(equals + 1));
        } else if (i + 1 == arguments.size()) {
            throw OptionsError(name + " needs a value");
        } else {
            set_valued(options, name, arguments[++i]);
        }
    }
    if (options.pin.subnet.empty() && !options.pin.interface_variables.empty())
        throw OptionsError("--interface-env needs --pin SUBNET");
    if (options.pin.subnet.empty() && options.transport == Carrier::sockets)
        throw OptionsError("--transport sockets needs --pin SUBNET: the network that is meant");
    require_mpi_for_memory(options);
    if (options.verbs.shared_receives && options.verbs.queue_pair == QueuePairKind::xrc)
        throw OptionsError("--queue-pair xrc has a shared queue of receives for each connection: leave"
                           " --shared-receives out");
    if (options.check_data && options.transport == Carrier::verbs) require_verifiable(options.verbs);
    return options;
}

}  // namespace fabricgauge
