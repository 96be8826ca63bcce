// The instructions of one call, in order, with the memory that each touches.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "code.hpp"

namespace fabricgauge::path {

struct Step {
    const Instruction* instruction;
    std::size_t accesses_begin;
    std::uint64_t system_call;
};

class Recording {
public:
    void add(const Instruction& instruction, const Registers& registers);
    // The same instruction goes on: one repetition more of a string instruction.
    void repeat(const Registers& registers);
    // Leaves out what only repeats what was just done: to be called after each step.
    void leave_out_polling();

    const std::vector<Step>& steps() const noexcept { return steps_; }
    const std::vector<Access>& accesses() const noexcept { return accesses_; }
    std::size_t accesses_end(std::size_t step) const noexcept;
    // Instructions that were left out, and how often a loop came round once more.
    std::int64_t polled() const noexcept { return polled_; }
    std::int64_t rounds() const noexcept { return rounds_; }

private:
    bool is_same(std::size_t one, std::size_t other) const;
    bool is_repetition(std::size_t period) const;

    std::vector<Step> steps_;
    std::vector<Access> accesses_;
    // Where each instruction stood before, the latest last.
    std::unordered_map<const Instruction*, std::vector<std::size_t>> places_;
    std::int64_t polled_ = 0;
    std::int64_t rounds_ = 0;
};

}  // namespace fabricgauge::path
