// What repeats what was just done is left out; what copies or computes is not.
#include "recording.hpp"

#include <deque>

#include "check.hpp"

using namespace fabricgauge::path;

namespace {

// Instructions that read or write through rsi, or touch nothing.
class Program {
public:
    const Instruction& reading() { return add(ZYDIS_OPERAND_ACTION_READ); }
    const Instruction& writing() { return add(ZYDIS_OPERAND_ACTION_WRITE); }
    const Instruction& plain() { return instructions_.emplace_back(); }

private:
    const Instruction& add(ZydisOperandActions actions) {
        ZydisDecodedOperand operand{};
        operand.actions = actions;
        operand.size = 64;
        operand.mem.base = ZYDIS_REGISTER_RSI;
        Instruction& made = instructions_.emplace_back();
        made.memory.push_back(operand);
        return made;
    }

    std::deque<Instruction> instructions_;
};

void run(Recording& recording, const Instruction& instruction, std::uint64_t address) {
    Registers registers{};
    registers.rsi = address;
    recording.add(instruction, registers);
    recording.leave_out_polling();
}

}  // namespace

int main() {
    check::test("rounds that read the same are one", [] {
        Program program;
        const Instruction &before = program.plain(), &load = program.reading(), &jump = program.plain();
        Recording recording;
        run(recording, before, 0);
        for (int i = 0; i < 5; ++i) {
            run(recording, load, 4096);
            run(recording, jump, 0);
        }
        check::expect_equal(recording.steps().size(), std::size_t{3});
        check::expect_equal(recording.accesses().size(), std::size_t{1});
        check::expect_equal(recording.polled(), std::int64_t{8});
        check::expect_equal(recording.rounds(), std::int64_t{4});
    });
    check::test("every eighth round may do more", [] {
        Program program;
        const Instruction &load = program.reading(), &more = program.writing();
        Recording recording;
        for (int i = 0; i < 64; ++i) {
            run(recording, load, 4096);
            if (i % 8 == 7) run(recording, more, 8192);
        }
        check::expect_equal(recording.steps().size(), std::size_t{2});
    });
    check::test("a copy is no polling", [] {
        Program program;
        const Instruction &load = program.reading(), &store = program.writing();
        Recording recording;
        for (std::uint64_t i = 0; i < 10; ++i) {
            run(recording, load, 4096 + 8 * i);
            run(recording, store, 8192 + 8 * i);
        }
        check::expect_equal(recording.steps().size(), std::size_t{20});
        check::expect_equal(recording.polled(), std::int64_t{0});
    });
    check::test("counting is no polling", [] {
        Program program;
        const Instruction &decrement = program.plain(), &jump = program.plain();
        Recording recording;
        for (int i = 0; i < 10; ++i) {
            run(recording, decrement, 0);
            run(recording, jump, 0);
        }
        check::expect_equal(recording.steps().size(), std::size_t{20});
    });
    return check::outcome();
}
