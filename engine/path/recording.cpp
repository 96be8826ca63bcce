#include "recording.hpp"

#include <algorithm>

namespace fabricgauge::path {

namespace {

// How many earlier places of an instruction are tried: a loop may do every n-th time something
// more, as Open MPI's progress does every eighth time.
constexpr std::size_t tried_places = 10;

}  // namespace

void Recording::add(const Instruction& instruction, const Registers& registers) {
    steps_.push_back({&instruction, accesses_.size(), registers.rax});
    instruction.touch(registers, accesses_);
}

void Recording::repeat(const Registers& registers) {
    steps_.back().instruction->touch(registers, accesses_);
}

std::size_t Recording::accesses_end(std::size_t step) const noexcept {
    return step + 1 < steps_.size() ? steps_[step + 1].accesses_begin : accesses_.size();
}

// Who polls looks at the same addresses again by the same way; who copies or counts does not.
// A round without any access is somebody's arithmetic.
void Recording::leave_out_polling() {
    std::vector<std::size_t>& places = places_[steps_.back().instruction];
    while (!places.empty() && places.back() + 1 >= steps_.size()) places.pop_back();
    const std::size_t last = steps_.size() - 1;
    const std::size_t most = std::min(places.size(), tried_places);
    for (std::size_t i = 0; i < most; ++i) {
        const std::size_t period = last - places[places.size() - 1 - i];
        if (!is_repetition(period)) continue;
        accesses_.resize(steps_[steps_.size() - period].accesses_begin);
        steps_.resize(steps_.size() - period);
        polled_ += static_cast<std::int64_t>(period);
        ++rounds_;
        return;
    }
    places.push_back(last);
    if (places.size() > 2 * tried_places) places.erase(places.begin(), places.end() - tried_places);
}

bool Recording::is_repetition(std::size_t period) const {
    const std::size_t size = steps_.size();
    if (size < 2 * period) return false;
    for (std::size_t i = size; i > size - period; --i)
        if (!is_same(i - 1, i - 1 - period)) return false;
    return steps_[size - period].accesses_begin < accesses_.size();
}

bool Recording::is_same(std::size_t one, std::size_t other) const {
    if (steps_[one].instruction != steps_[other].instruction) return false;
    const std::size_t begin = steps_[one].accesses_begin, count = accesses_end(one) - begin;
    const std::size_t from = steps_[other].accesses_begin;
    if (accesses_end(other) - from != count) return false;
    for (std::size_t i = 0; i < count; ++i)
        if (accesses_[begin + i].address != accesses_[from + i].address) return false;
    return true;
}

}  // namespace fabricgauge::path
