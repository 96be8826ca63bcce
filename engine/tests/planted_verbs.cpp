// Errors on a real device, planted: a node's port talks to itself. What is planted is named by the
// argument; what the engine says of it is printed. No unit test: tests/app starts it where there is RDMA.
#include <cstdio>
#include <cstring>
#include <string>

#include "fabricgauge/data_pattern.hpp"
#include "linked_pairs.hpp"

using namespace fabricgauge;

namespace {

constexpr std::size_t sent_bytes = 512;
constexpr std::size_t planted_offset = 77;

void send_more_than_is_awaited(LinkedPairs& pairs) {
    for (int i = 0; i < 10; ++i) pairs.one.stream(pairs.buffer.data(), 8);
    pairs.one.await_streamed();
}

void write(LinkedPairs& pairs) {
    for (int i = 0; i < 10; ++i) pairs.one.write(pairs.buffer.data(), sent_bytes, 0);
    pairs.one.await_posted();
}

void write_corrupted(LinkedPairs& pairs) {
    const std::uint64_t seed = pattern_seed(Author::origin, 1, 0);
    fill_pattern(pairs.buffer.data(), sent_bytes, seed);
    pairs.buffer.data()[planted_offset] ^= std::byte{4};
    write(pairs);
    const auto found = first_mismatch(pairs.buffer.data() + 2048, sent_bytes, seed);
    std::printf("first mismatch at %zu\n", found.value_or(sent_bytes));
}

}  // namespace

int main(int, char** argv) {
    const std::string planted = argv[1];
    try {
        const RdmaPort port = choose_port(read_rdma_ports(), {});
        const VerbsLibrary library = load_verbs();
        LinkedPairs pairs(library, port, choose_gid(port, std::nullopt, std::nullopt), {},
                          planted == "wrong-key" ? 0x1000 : 0);
        if (planted == "corrupted") write_corrupted(pairs);
        else if (planted == "no-receive") send_more_than_is_awaited(pairs);
        else write(pairs);
        std::printf("all went well\n");
    } catch (const std::exception& error) {
        std::printf("%s\n", error.what());
    }
    return 0;
}
