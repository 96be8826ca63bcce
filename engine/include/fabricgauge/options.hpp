// The command line of the engine.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "fabricgauge/device_memory.hpp"
#include "fabricgauge/ofi_options.hpp"
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

// The carrier of a pair's data; MPI always carries the rest.
enum class Carrier { mpi, sockets, ofi, verbs };

const char* name_of(Carrier carrier) noexcept;

struct Options {
    StoppingOptions stopping;
    PinOptions pin;
    bool check_data = false;
    bool thread_multiple = false;
    MemoryOptions memory;
    double grace_s = 10.0;
    std::string output;  // empty: standard output
    Carrier transport = Carrier::mpi;
    int sockets_traffic_class = 0;  // the TOS byte; heeded by its carrier only, as the next two
    VerbsOptions verbs;
    OfiOptions ofi;
    bool version = false;
};

class OptionsError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

Options parse_options(const std::vector<std::string>& arguments);

}  // namespace fabricgauge
