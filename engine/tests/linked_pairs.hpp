// Two queue pairs of one process that lead to each other, and the memory between them.
#pragma once

#include "fabricgauge/messages.hpp"
#include "fabricgauge/verbs_pair.hpp"

struct LinkedPairs {
    fabricgauge::VerbsDevice device;
    fabricgauge::Buffer buffer{4096};
    fabricgauge::VerbsMemory memory{device, buffer.data(), buffer.bytes()};
    // Ten operations are started before they are waited for; the other one expects a message.
    fabricgauge::VerbsPair one{device, device.limits(), memory, {10, {nullptr, 0, 0, 0, false}}, 1};
    fabricgauge::VerbsPair other{
        device, device.limits(), memory, {10, {buffer.data() + 2048, 8, 8, 1, false}}, 0};

    // `key_error` is by how much the one's key for the other's memory is wrong.
    LinkedPairs(const fabricgauge::VerbsLibrary& library, const fabricgauge::RdmaPort& port,
                const fabricgauge::Gid& gid, const fabricgauge::VerbsOptions& options,
                std::uint32_t key_error = 0)
        : device(library, port, gid, options) {
        fabricgauge::VerbsAddress there = other.address();
        there.window = reinterpret_cast<std::uint64_t>(buffer.data() + 2048);
        there.window_key = memory.remote_key() + key_error;
        one.connect(there);
        other.connect(one.address());
    }
};
