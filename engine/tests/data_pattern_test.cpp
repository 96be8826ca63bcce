#include "fabricgauge/data_pattern.hpp"

#include <vector>

#include "check.hpp"

using namespace fabricgauge;

int main() {
    check::test("what was filled matches, at every length", [] {
        for (std::size_t bytes = 0; bytes < 70; ++bytes) {
            std::vector<std::byte> data(bytes);
            fill_pattern(data.data(), bytes, 5);
            check::expect(!first_mismatch(data.data(), bytes, 5));
        }
    });
    check::test("a changed byte is found at its offset", [] {
        std::vector<std::byte> data(4099);
        for (const std::size_t offset : {0U, 7U, 8U, 4095U, 4096U, 4098U}) {
            fill_pattern(data.data(), data.size(), 5);
            data[offset] ^= std::byte{0x01};
            const auto found = first_mismatch(data.data(), data.size(), 5);
            check::expect(found.has_value());
            check::expect_equal(found.value_or(99999), offset);
        }
    });
    check::test("the message of another sample, slot or author does not match", [] {
        std::vector<std::byte> data(64);
        fill_pattern(data.data(), data.size(), pattern_seed(Author::origin, 3, 1));
        const auto differs = [&](Author author, std::uint64_t sample, std::uint64_t slot) {
            return first_mismatch(data.data(), data.size(), pattern_seed(author, sample, slot))
                .has_value();
        };
        check::expect(!differs(Author::origin, 3, 1));
        check::expect(differs(Author::target, 3, 1));
        check::expect(differs(Author::origin, 4, 1));
        check::expect(differs(Author::origin, 3, 2));
    });
    check::test("a shifted message does not match", [] {
        std::vector<std::byte> data(72);
        fill_pattern(data.data(), data.size(), 5);
        check::expect(first_mismatch(data.data() + 8, 64, 5).has_value());
    });
    check::test("the description names rank, sample and bytes", [] {
        const std::string text = describe({1, 12, 3, 4, 1, 0xab, 0xac});
        check::expect(text.find("rank 1") != std::string::npos);
        check::expect(text.find("0xab") != std::string::npos);
        check::expect(text.find("0xac") != std::string::npos);
    });
    return check::outcome();
}
