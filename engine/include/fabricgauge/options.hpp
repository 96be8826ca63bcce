// The command line of the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "fabricgauge/messages.hpp"
#include "fabricgauge/verbs_options.hpp"

namespace fabricgauge {

struct StoppingOptions {
    double relative_half_width = 0.01;
    double confidence = 0.95;
    std::int64_t iterations = 0;  // 0: as many as the other rules want
};

struct PinOptions {
    std::string subnet;  // empty: not pinned
    std::vector<std::string> interface_variables;
};

struct Options {
    StoppingOptions stopping;
    PinOptions pin;
    bool check_data = false;
    bool thread_multiple = false;
    PingPongBuffers buffers = PingPongBuffers::shared;
    double grace_s = 10.0;
    std::string output;  // empty: standard output
    std::optional<VerbsOptions> verbs;  // else MPI carries the data
    bool version = false;
};

class OptionsError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

Options parse_options(const std::vector<std::string>& arguments);

}  // namespace fabricgauge
