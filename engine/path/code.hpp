// What one instruction is and which memory it touches, decoded by Zydis once for each address.
#pragma once

#include <Zydis/Zydis.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tracee.hpp"

namespace fabricgauge::path {

struct Access {
    std::uint64_t address;
    std::uint32_t bytes;
    bool store;
};

// A decoded instruction; `function` is an index into the functions of `Symbols`.
struct Instruction {
    std::uint64_t address = 0;
    std::uint8_t length = 0;
    std::size_t function = 0;
    bool call = false;
    bool branch = false;  // conditional
    bool locked = false;
    bool syscall = false;
    bool trap = false;
    // A string instruction that repeats: for a count in rcx, or until it finds something.
    bool repeats = false;
    bool counted = false;
    std::vector<ZydisDecodedOperand> memory;

    // What it reads and writes when it runs with these registers.
    void touch(const Registers& registers, std::vector<Access>& accesses) const;
};

// All instructions met so far. An address keeps its instruction: code is not expected to change.
class Code {
public:
    explicit Code(const Tracee& tracee);
    // Throws std::runtime_error for bytes that are no instruction. `is_new` says that its function
    // is not known yet.
    Instruction& at(std::uint64_t address, bool& is_new);

private:
    const Tracee& tracee_;
    ZydisDecoder decoder_;
    std::unordered_map<std::uint64_t, Instruction> known_;
};

}  // namespace fabricgauge::path
