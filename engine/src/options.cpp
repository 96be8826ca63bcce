#include "fabricgauge/options.hpp"

#include <functional>
#include <map>
#include <optional>

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

const std::map<std::string, Setter>& valued_options() {
    static const std::map<std::string, Setter> table = {
        {"--half-width", [](Options& o, auto& v) { o.stopping.relative_half_width = share(v); }},
        {"--confidence", [](Options& o, auto& v) { o.stopping.confidence = share(v); }},
        {"--iterations", [](Options& o, auto& v) { o.stopping.iterations = positive(v); }},
        {"--pin", [](Options& o, auto& v) { o.pin.subnet = v; }},
        {"--interface-env",
         [](Options& o, auto& v) { o.pin.interface_variables.push_back(variable_name(v)); }},
        {"--grace", [](Options& o, auto& v) { o.grace_s = seconds(v); }},
        {"--output", [](Options& o, auto& v) { o.output = v; }},
    };
    return table;
}

const std::map<std::string, std::function<void(Options&)>>& switches() {
    static const std::map<std::string, std::function<void(Options&)>> table = {
        {"--check-data", [](Options& o) { o.check_data = true; }},
        {"--separate-buffers", [](Options& o) { o.buffers = PingPongBuffers::separate; }},
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
    return options;
}

}  // namespace fabricgauge
