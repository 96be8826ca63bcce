// The message layer over libfabric: data of a pair go through an endpoint of its own, which each case
// makes anew.
//
// Ordinary messages are tagged or plain ones, a put is a write, a get a read. A latency by messages is
// half of the round trip; of a one-sided operation it is the time until its completion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabricgauge/json.hpp"
#include "fabricgauge/ofi_pair.hpp"
#include "fabricgauge/pair_transport.hpp"

namespace fabricgauge {

// Empty if the provider can do the case; else why not.
std::string beyond_ofi(const Case& measured, const OfiLimits& limits, const std::string& provider);

template <typename Control>
class OfiTransport : public PairTransport<Control> {
public:
    // Collective. Control gets the remaining arguments.
    template <typename... Rest>
    explicit OfiTransport(const OfiDomain& domain, Rest&... rest)
        : PairTransport<Control>(rest...), domain_(domain),
          limits_(this->least_of_all(domain.limits())) {}

    std::string beyond(const Case& measured) const {
        return beyond_ofi(measured, limits_, domain_.provider());
    }

    // Collective; JSON at rank 0.
    std::string description() {
        JsonWriter json;
        json.begin_object().member("name", "ofi").member("library", domain_.library().path);
        json.member("version", domain_.library().version_text());
        json.member("provider", domain_.provider());
        json.member("endpoint", domain_.connected() ? "MSG" : "RDM");
        json.member("messages", domain_.tagged() ? "tagged" : "plain");
        json.member("completion", limits_.delivery ? "delivery" : "transmit");
        json.member("inject_bytes", static_cast<std::int64_t>(domain_.info().tx_attr->inject_size));
        json.key("domains").begin_array();
        for (const std::string& one : this->gather(domain_.name())) json.value(one);
        json.end_array().end_object();
        return json.text();
    }

    // Called by the two ranks of the case.
    void open_pair(const Case& measured, const Messages& messages) {
        const int peer = this->peer_in(measured);
        const Buffer& memory = this->memory_of(messages);
        pair_.emplace(domain_, memory.data(), memory.bytes(), window_slots(measured), peer,
                      this->rank() > peer);
        pair_->join(this->swap_with(peer, std::vector{pair_->address()}).front());
        meet(peer);
    }
    std::string close_pair() {
        pair_.reset();
        return "";
    }

    // Most providers move what others write and read here in this side's calls alone, so it makes them
    // while it waits for the others' word.
    void receive_control(void* data, std::int64_t bytes, int peer) {
        if (pair_)
            for (unsigned looks = 0; looks % looks_at_control != 0 || !Control::has_control(peer); ++looks)
                pair_->advance();
        Control::receive_control(data, bytes, peer);
    }

    void send(const std::byte* data, std::int64_t bytes, int) {
        pair_->start_send(data, bytes);
        pair_->await_started();
    }
    void receive(std::byte* data, std::int64_t bytes, int) {
        pair_->start_receive(data, bytes);
        pair_->await_received();
    }
    void start_send(std::int64_t, const std::byte* data, std::int64_t bytes, int) {
        pair_->start_send(data, bytes);
    }
    void start_receive(std::int64_t, std::byte* data, std::int64_t bytes, int) {
        pair_->start_receive(data, bytes);
    }
    void wait_all(std::int64_t) {
        pair_->await_received();
        pair_->await_started();
    }

    void put(const std::byte* data, std::int64_t bytes, int, std::int64_t displacement) {
        pair_->write(data, bytes, displacement);
    }
    void get(std::byte* data, std::int64_t bytes, int, std::int64_t displacement) {
        pair_->read(data, bytes, displacement);
    }
    void fetch_and_add(const std::byte* added, std::byte* found, int) {
        pair_->fetch_and_add(added, found);
    }
    void compare_and_swap(const std::byte* swapped, const std::byte* compared, std::byte* found,
                          int) {
        pair_->compare_and_swap(swapped, compared, found);
    }
    void flush(int) { pair_->await_started(); }

private:
    // Providers connect with the first message, which takes them milliseconds: no sample is to have it.
    void meet(int peer) {
        const bool first = this->rank() < peer;
        if (first) send(nullptr, 0, peer);
        receive(nullptr, 0, peer);
        if (!first) send(nullptr, 0, peer);
        // That message may lie with the provider until the provider is called again.
        if (first) this->send_control(nullptr, 0, peer);
        else receive_control(nullptr, 0, peer);
    }

    // Calls of libfabric between two looks for a control message, which take MPI longer.
    static constexpr int looks_at_control = 64;

    const OfiDomain& domain_;
    OfiLimits limits_;
    std::optional<OfiPair> pair_;
};

}  // namespace fabricgauge
