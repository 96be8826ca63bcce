// Steps through the calls that a program marks and says what each of them did.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "code.hpp"
#include "mark.hpp"
#include "recording.hpp"
#include "summary.hpp"
#include "symbols.hpp"
#include "tracee.hpp"

namespace fabricgauge::path {

class Tracer {
public:
    // `tell` gets a line of JSON for each call, as soon as it has ended. Of a call that is longer
    // than `most_steps` the rest runs unrecorded.
    Tracer(Tracee& tracee, std::int64_t most_steps, std::function<void(const std::string&)> tell);
    // Until the program says that it has made all its calls. Throws Ended if it ends before.
    void run();

private:
    void trace(const Mark& mark);
    void step(Recording& recording, const Instruction& instruction, const Registers& registers);
    Instruction& at(std::uint64_t address);

    Tracee& tracee_;
    std::int64_t most_steps_;
    std::function<void(const std::string&)> tell_;
    Code code_;
    Symbols symbols_;
    Summary summary_;
};

}  // namespace fabricgauge::path
