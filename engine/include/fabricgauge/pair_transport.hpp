// The common part of transports other than MPI: a separate connection carries the data of a pair;
// addresses, control messages and all else go through `Control`, another message layer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "fabricgauge/case_list.hpp"
#include "fabricgauge/messages.hpp"

namespace fabricgauge {

template <typename Control>
class PairTransport : public Control {
public:
    // Cases of one pair alone; all others go by without.
    static constexpr bool pairs_only = true;

    using Control::Control;

    std::byte* open_window(std::int64_t bytes, int, int target, Epoch) {
        if (this->rank() == target) window_.emplace(bytes);
        return window_ ? window_->data() : nullptr;
    }
    void close_window() { window_.reset(); }
    void sync_window() { std::atomic_thread_fence(std::memory_order_seq_cst); }
    void reserve(std::int64_t) {}

protected:
    bool at_origin(const Case& measured) const { return this->rank() == measured.origin; }
    int peer_in(const Case& measured) const {
        return at_origin(measured) ? measured.target : measured.origin;
    }

    // The memory of all data of a case on this rank.
    const Buffer& memory_of(const Messages& messages) const {
        return window_ ? *window_ : messages.memory();
    }

    // Exchanges values with the peer, equally many each way, and returns the peer's.
    template <typename Value>
    std::vector<Value> swap_with(int peer, const std::vector<Value>& own) {
        const auto bytes = static_cast<std::int64_t>(own.size() * sizeof(Value));
        std::vector<Value> others(own.size());
        if (this->rank() < peer) Control::send_control(own.data(), bytes, peer);
        Control::receive_control(others.data(), bytes, peer);
        if (this->rank() > peer) Control::send_control(own.data(), bytes, peer);
        return others;
    }

    // Collective: the abilities that all ranks have. Values are sent unchanged.
    template <typename Limits>
    Limits least_of_all(Limits least) {
        const auto text_of = [&] { return std::string(reinterpret_cast<char*>(&least), sizeof least); };
        for (const std::string& text : this->gather(text_of())) {
            Limits one;
            std::memcpy(&one, text.data(), sizeof one);
            least = least.least(one);
        }
        std::string all = text_of();
        this->broadcast(all);
        std::memcpy(&least, all.data(), sizeof least);
        return least;
    }

private:
    std::optional<Buffer> window_;
};

}  // namespace fabricgauge
