#include "tracer.hpp"

#include <algorithm>
#include <iterator>

namespace fabricgauge::path {

Tracer::Tracer(Tracee& tracee, std::int64_t most_steps,
               std::function<void(const std::string&)> tell)
    : tracee_(tracee), most_steps_(most_steps), tell_(std::move(tell)), code_(tracee),
      symbols_(tracee), summary_(symbols_) {}

void Tracer::run() {
    while (true) {
        tracee_.run();
        Mark mark{};
        if (tracee_.read(tracee_.registers().rdi, &mark, sizeof mark) != sizeof mark) continue;
        if (mark.number == finished) return;
        trace(mark);
    }
}

Instruction& Tracer::at(std::uint64_t address) {
    bool is_new = false;
    Instruction& found = code_.at(address, is_new);
    if (is_new) found.function = symbols_.function_at(address);
    return found;
}

// From the first instruction of a marked function to its return; what the program does between
// them is stepped through and not recorded.
void Tracer::trace(const Mark& mark) {
    Recording recording;
    const std::int64_t signals_before = tracee_.signals();
    std::uint64_t return_address = 0, stack = 0;
    std::int64_t steps = 0;
    for (bool inside = false; steps < most_steps_; ++steps) {
        const Registers registers = tracee_.registers();
        // What jumps to the return address with the stack as it was before the call has returned.
        if (inside && registers.rip == return_address && registers.rsp > stack) inside = false;
        const auto* here = reinterpret_cast<const void*>(registers.rip);
        if (!inside && here != nullptr &&
            std::find(std::begin(mark.functions), std::end(mark.functions), here) !=
                std::end(mark.functions)) {
            inside = true;
            stack = registers.rsp;
            tracee_.read(stack, &return_address, sizeof return_address);
        }
        const Instruction& instruction = at(registers.rip);
        if (instruction.trap && !inside) break;
        if (inside)
            step(recording, instruction, registers);
        else
            tracee_.step();
    }
    const bool cut = steps == most_steps_;
    tell_(summary_.of(recording, {mark, tracee_.signals() - signals_before, cut}));
    if (!cut) tracee_.step();  // over the mark that ends it
}

// A string instruction traps at each repetition; it is one instruction all the same.
void Tracer::step(Recording& recording, const Instruction& instruction,
                  const Registers& registers) {
    recording.add(instruction, registers);
    if (instruction.repeats && instruction.counted && registers.rcx > 1) {
        tracee_.run_to(instruction.address + instruction.length);
    } else {
        tracee_.step();
        while (instruction.repeats) {
            const Registers now = tracee_.registers();
            if (now.rip != instruction.address) break;
            recording.repeat(now);
            tracee_.step();
        }
    }
    recording.leave_out_polling();
}

}  // namespace fabricgauge::path
