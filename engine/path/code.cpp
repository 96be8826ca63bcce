#include "code.hpp"

#include <algorithm>
#include <stdexcept>

namespace fabricgauge::path {

namespace {

constexpr std::size_t longest_instruction = 15;

std::uint64_t value_of(ZydisRegister name, const Registers& r, std::uint64_t next) {
    switch (ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name)) {
        case ZYDIS_REGISTER_RAX: return r.rax;
        case ZYDIS_REGISTER_RBX: return r.rbx;
        case ZYDIS_REGISTER_RCX: return r.rcx;
        case ZYDIS_REGISTER_RDX: return r.rdx;
        case ZYDIS_REGISTER_RSI: return r.rsi;
        case ZYDIS_REGISTER_RDI: return r.rdi;
        case ZYDIS_REGISTER_RBP: return r.rbp;
        case ZYDIS_REGISTER_RSP: return r.rsp;
        case ZYDIS_REGISTER_R8: return r.r8;
        case ZYDIS_REGISTER_R9: return r.r9;
        case ZYDIS_REGISTER_R10: return r.r10;
        case ZYDIS_REGISTER_R11: return r.r11;
        case ZYDIS_REGISTER_R12: return r.r12;
        case ZYDIS_REGISTER_R13: return r.r13;
        case ZYDIS_REGISTER_R14: return r.r14;
        case ZYDIS_REGISTER_R15: return r.r15;
        case ZYDIS_REGISTER_RIP: return next;
        default: return 0;
    }
}

std::uint64_t segment_base(ZydisRegister segment, const Registers& r) {
    if (segment == ZYDIS_REGISTER_FS) return r.fs_base;
    return segment == ZYDIS_REGISTER_GS ? r.gs_base : 0;
}

// What push and call write lies below the stack pointer that they begin with.
bool grows_stack(const ZydisDecodedOperand& one) {
    return one.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
           one.mem.base == ZYDIS_REGISTER_RSP &&
           (one.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

bool is_string(const ZydisDecodedInstruction& one) {
    return (one.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
                              ZYDIS_ATTRIB_HAS_REPNE)) != 0 &&
           one.meta.category == ZYDIS_CATEGORY_STRINGOP;
}

}  // namespace

void Instruction::touch(const Registers& registers, std::vector<Access>& accesses) const {
    for (const ZydisDecodedOperand& one : memory) {
        const std::uint64_t next = address + length;
        std::uint64_t where = segment_base(one.mem.segment, registers) +
                              value_of(one.mem.base, registers, next) +
                              value_of(one.mem.index, registers, next) * one.mem.scale;
        if (one.mem.disp.has_displacement) where += static_cast<std::uint64_t>(one.mem.disp.value);
        std::uint64_t bytes = std::max<std::uint64_t>(1, one.size / 8);
        if (grows_stack(one)) where -= bytes;
        if (counted) bytes *= registers.rcx;
        if (bytes == 0) continue;
        const auto add = [&](bool store) {
            accesses.push_back({where, static_cast<std::uint32_t>(bytes), store});
        };
        if ((one.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0) add(false);
        if ((one.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0) add(true);
    }
}

Code::Code(const Tracee& tracee) : tracee_(tracee) {
    ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

Instruction& Code::at(std::uint64_t address, bool& is_new) {
    const auto [place, inserted] = known_.try_emplace(address);
    is_new = inserted;
    if (!inserted) return place->second;
    std::uint8_t bytes[longest_instruction];
    std::size_t got = tracee_.read(address, bytes, sizeof bytes);
    if (got == 0) got = tracee_.read(address, bytes, 4096 - address % 4096);
    ZydisDecodedInstruction decoded;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, bytes, got, &decoded, operands)))
        throw std::runtime_error("an instruction could not be decoded");
    Instruction& made = place->second;
    made.address = address;
    made.length = decoded.length;
    made.call = decoded.meta.category == ZYDIS_CATEGORY_CALL;
    made.branch = decoded.meta.category == ZYDIS_CATEGORY_COND_BR;
    made.syscall = decoded.mnemonic == ZYDIS_MNEMONIC_SYSCALL;
    made.trap = decoded.mnemonic == ZYDIS_MNEMONIC_INT3;
    made.repeats = is_string(decoded);
    made.counted = made.repeats && (decoded.attributes & ZYDIS_ATTRIB_HAS_REP) != 0;
    for (std::size_t i = 0; i < decoded.operand_count; ++i)
        if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
            operands[i].mem.type == ZYDIS_MEMOP_TYPE_MEM)
            made.memory.push_back(operands[i]);
    // xchg with memory locks the line without a prefix (Intel SDM volume 2, XCHG).
    made.locked = (decoded.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 ||
                  (decoded.mnemonic == ZYDIS_MNEMONIC_XCHG && !made.memory.empty());
    return made;
}

}  // namespace fabricgauge::path
