// The measuring core's requirements of a message layer.
//
// There is no base class: a transport is a template argument, so that a call in the measuring loop
// is a direct one. It has
//
//   void send(const std::byte* data, std::int64_t bytes, int peer)
//   void receive(std::byte* data, std::int64_t bytes, int peer)
//   void start_send(std::int64_t slot, const std::byte* data, std::int64_t bytes, int peer)
//   void start_receive(std::int64_t slot, std::byte* data, std::int64_t bytes, int peer)
//   void wait_all(std::int64_t slots)                 slots 0 … slots-1
//   void make_send(std::int64_t slot, const std::byte* data, std::int64_t bytes, int peer)
//   void make_receive(std::int64_t slot, std::byte* data, std::int64_t bytes, int peer)
//   void start(std::int64_t slot), void wait(std::int64_t slot)
//   void start_all(std::int64_t slots)                what was made in slots 0 … slots-1
//   void discard(std::int64_t slots)                  unmakes them
//   void put(const std::byte* data, std::int64_t bytes, int peer, std::int64_t displacement)
//   void get(std::byte* data, std::int64_t bytes, int peer, std::int64_t displacement)
//   void accumulate(const std::byte* data, std::int64_t bytes, int peer,
//                   std::int64_t displacement)        adds integers of 8 bytes
//   void fetch_and_add(const std::byte* added, std::byte* found, int peer)        8 bytes, at 0
//   void compare_and_swap(const std::byte* swapped, const std::byte* compared, std::byte* found,
//                         int peer)                   8 bytes, at 0
//   void flush(int peer)                              all that was begun is done at the peer
//   void sync_window()                                the own window shows what was put there
//   void fence()                                      both sides
//   void start_access(), void complete_access()       the origin
//   void post_exposure(), void wait_exposure()        the target
//   Channel channel(int number, std::int64_t slots)         see threaded.hpp
//   void send_control(const void* data, std::int64_t bytes, int peer)
//   void receive_control(void* data, std::int64_t bytes, int peer)
//   int rank() const
//
// Messages between two ranks keep their order within each kind (data, control). A failure is a
// TransportError with the failed call and the reason.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "fabricgauge/waits.hpp"

namespace fabricgauge {

// A call of the message layer that failed.
class TransportError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The origin's message to the target before each round; samples = 0 ends the case, below 0 asks how
// long the target has waited for a processor.
struct Round {
    std::int64_t samples;
    std::int64_t batch;
    std::int64_t lead_in;
    std::int64_t checked = 0;  // 1 where the data of each sample are compared
};

// Ask the target; it answers in TargetPart.
template <typename Transport>
Waits waits_of_target(Transport& transport, int peer) {
    const Round question{-1, 0, 0};
    transport.send_control(&question, sizeof question, peer);
    Waits waits;
    transport.receive_control(&waits, sizeof waits, peer);
    return waits;
}

// Empty control messages, by which origin and target wait for each other.
template <typename Transport>
void signal(Transport& transport, int peer) {
    transport.send_control(nullptr, 0, peer);
}

template <typename Transport>
void await_signal(Transport& transport, int peer) {
    transport.receive_control(nullptr, 0, peer);
}

}  // namespace fabricgauge
