#include "fabricgauge/case_list.hpp"

#include <sstream>

#include "check.hpp"

using namespace fabricgauge;

namespace {

const std::string good = "a pattern=bandwidth bytes=4096 window=64 origin=0 target=1 budget_s=0.5\n";

void expect_refused(const std::string& text, const std::string& part,
                    int line = __builtin_LINE()) {
    check::expect_error<CaseListError>([&] { parse_case_list(text); }, part, __FILE__, line);
}

}  // namespace

int main() {
    check::test("a case is read", [] {
        const Case found = parse_case_list(good).at(0);
        check::expect_equal(found.name, "a");
        check::expect(found.pattern == Pattern::bandwidth);
        check::expect_equal(found.sample_payload_bytes(), 4096 * 64);
        check::expect_near(found.budget_s, 0.5, 0.0);
    });
    check::test("a latency sample is one message, whatever the window", [] {
        const std::string text = "a pattern=latency bytes=8 window=64 origin=0 target=1 budget_s=1";
        check::expect_equal(parse_case_list(text).at(0).sample_payload_bytes(), 8);
    });
    check::test("comments, empty lines and order of keys do not matter", [] {
        check::expect_equal(parse_case_list("# x\n\n  \r\n" + good).size(), std::size_t{1});
        check::expect_equal(
            parse_case_list("a budget_s=1 target=1 origin=0 window=1 bytes=0 pattern=latency").size(),
            std::size_t{1});
        check::expect_equal(parse_case_list("").size(), std::size_t{0});
    });
    check::test("a line that says end ends the input before the stream does", [] {
        std::istringstream input("one\ntwo\nend\nthree\n");
        check::expect_equal(read_case_list(input), "one\ntwo\n");
        std::istringstream without("one\ntwo");
        check::expect_equal(read_case_list(without), "one\ntwo\n");
    });
    check::test("an error names its line", [] {
        expect_refused("# x\n" + good + "b pattern=latency\n", "line 3: the key bytes is missing");
    });
    check::test("an unknown pattern is refused with those that exist", [] {
        expect_refused("a pattern=ping bytes=8 window=1 origin=0 target=1 budget_s=1",
                       "expected one of latency, bandwidth");
    });
    check::test("odd values are refused", [] {
        const auto with = [](const std::string& key, const std::string& value) {
            std::string text = "a";
            for (const std::string known : {"bytes", "window", "origin", "target", "budget_s"})
                text += " " + known + "=" + (known == key ? value : "1");
            return text + " pattern=latency";
        };
        expect_refused(with("bytes", "-1"), "bytes=-1");
        expect_refused(with("bytes", "8k"), "bytes=8k");
        expect_refused(with("bytes", "99999999999"), "bytes=99999999999");
        expect_refused(with("window", "0"), "window=0");
        expect_refused(with("budget_s", "0"), "budget_s=0");
        expect_refused(with("budget_s", "nan"), "budget_s=nan");
        expect_refused(with("budget_s", ""), "budget_s=");
        expect_refused(with("origin", ""), "origin=");
    });
    check::test("what many ranks need may be left out, and is read", [] {
        const Case plain = parse_case_list(good).at(0);
        check::expect(plain.rounds.empty() && plain.ranks == 0 && plain.threads == 1);
        const Case found = parse_case_list(
            "a pattern=all_pairs_latency bytes=8 window=1 origin=0 target=0 budget_s=1 ranks=16 "
            "concurrent=2 rounds=0-2,7 load=incast epoch=pscw pairs=3 threads=2 "
            "clock=barrier buffers=multiple").at(0);
        check::expect(plain.clock == ClockChoice::best && found.clock == ClockChoice::barrier);
        check::expect(plain.buffers == Buffers::fewest && found.buffers == Buffers::multiple);
        check::expect(found.rounds == std::vector<int>({0, 1, 2, 7}));
        check::expect_equal(found.ranks, 16);
        check::expect_equal(found.concurrent, 2);
        check::expect(found.load == Load::incast && found.epoch == Epoch::pscw);
    });
    check::test("rounds that do not ascend, or too many, are refused", [] {
        const std::string begin = "a pattern=latency bytes=8 window=1 origin=0 target=1 budget_s=1 ";
        for (const std::string rounds : {"3,2", "2-1", "", "x", "1,", "1,,2", "0-99999999", "-1", "0-1,1"})
            expect_refused(begin + "rounds=" + rounds, "rounds=" + rounds);
        expect_refused(begin + "load=heavy", "expected one of none, all_to_all");
        expect_refused(begin + "buffers=many", "expected one of fewest, single, multiple");
        expect_refused(begin + "threads=0", "threads=0");
    });
    check::test("an unknown or repeated key is refused", [] {
        expect_refused("a colour=1", "'colour=1' is not understood");
        expect_refused("a bytes=1 bytes=2", "bytes is given twice");
        expect_refused("a bytes", "'bytes' is not understood");
    });
    return check::outcome();
}
