#include "fabricgauge/records.hpp"

#include "check.hpp"

using namespace fabricgauge;

namespace {

const Case latency = {"a\"b", Pattern::latency, 8, 1, 0, 1, 1.0};

bool mentions(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

int main() {
    check::test("a rank's report survives the way to rank 0", [] {
        const RankReport back = unpack(pack({42, "", "[]", "{\"rank\":0}", "", "{}", "{\"queue_pairs\":1}",
                                              "{\"kind\":\"host\"}"}));
        check::expect_equal(back.payload_sent_bytes, 42);
        check::expect_equal(back.counters, "");
        check::expect_equal(back.sockets, "[]");
        check::expect_equal(back.processors, "{\"rank\":0}");
        check::expect_equal(back.measured, "");
        check::expect_equal(back.together, "{}");
        check::expect_equal(back.connection, "{\"queue_pairs\":1}");
        check::expect_equal(back.memory, "{\"kind\":\"host\"}");
    });
    check::test("a case without samples has no times", [] {
        const std::string record = case_record(latency, {"skipped", "why"}, unmeasured_members(true), {});
        check::expect(mentions(record, "\"case\":\"a\\\"b\""));
        check::expect(mentions(record, "\"times\":null"));
        check::expect(mentions(record, "\"payload_sent_bytes\":[]"));
        check::expect(mentions(record, "\"requested\":true,\"ok\":true,\"first_bad_offset_bytes\":null"));
    });
    check::test("a mismatch is recorded with its offset", [] {
        Recorder recorder(1);
        const std::int64_t sample = 1000;
        recorder.add_block(&sample, 1);
        recorder.settle();
        const std::string members =
            measured_members({recorder, Stop::budget, 1, 0.1, 0.95, true, {1, 17, 0, 0, 1, 2, 3}});
        check::expect(mentions(members, "\"ok\":false,\"first_bad_offset_bytes\":17"));
        check::expect(mentions(members, "\"histogram_ps\":[[1000,1]]"));
    });
    check::test("a rank without counters is left out", [] {
        const std::string record = case_record(latency, {"ok", ""}, unmeasured_members(false),
                                               {{1, "{\"rank\":0}", "[]", "{}", "", "", ""}, {2, "", "[]", "{}", "", "", ""}});
        check::expect(mentions(record, "\"counters\":[{\"rank\":0}]"));
        check::expect(mentions(record, "\"sockets\":[[],[]]"));
        check::expect(mentions(record, "\"payload_sent_bytes\":[1,2]"));
    });
    check::test("what a case of many ranks adds is told, settings only where they are not usual", [] {
        Case loaded = latency;
        loaded.load = Load::incast;
        const std::string record = case_record(loaded, {"ok", ""}, unmeasured_members(false),
                                               {{1, "", "[]", "{}", "", "{\"ranks\":4}", ""}});
        check::expect(mentions(record, "\"together\":{\"ranks\":4}"));
        check::expect(mentions(record, "\"load\":\"incast\""));
        check::expect(!mentions(record, "epoch"));
        check::expect(!mentions(record, "threads"));
        check::expect(!mentions(record, "losing"));
        check::expect(!mentions(record, "buffers"));
        loaded.losing = true;
        check::expect(mentions(case_record(loaded, {"ok", ""}, unmeasured_members(false), {}), "\"losing\":true"));
        loaded.buffers = Buffers::single;
        check::expect(mentions(case_record(loaded, {"ok", ""}, unmeasured_members(false), {}), "\"buffers\":\"single\""));
    });
    check::test("what a case over verbs took to make is told by both ranks, over MPI by none", [] {
        const auto record_of = [](const std::string& connection) {
            return case_record(latency, {"ok", ""}, unmeasured_members(false),
                               {{1, "", "[]", "{}", "", "", connection}});
        };
        check::expect(mentions(record_of("{\"rank\":0}"), "\"connections\":[{\"rank\":0}]"));
        check::expect(!mentions(record_of(""), "connections"));
    });
    check::test("a round is told pair by pair, in columns", [] {
        const std::string record = round_record(latency, 2, 3, 0.5, {{0, 3, 7, 100, 120, 9}});
        check::expect(mentions(record, "\"round\":2,\"rounds\":3"));
        check::expect(mentions(record, "\"origins\":[0],\"targets\":[3],\"samples\":[7]"));
        check::expect(mentions(record, "\"median_ps\":[120],\"quartile_ps\":[9]"));
        check::expect(!mentions(record, "one_way_ps") && !mentions(record, "clock_error_s"));
    });
    check::test("a round on a common clock tells the difference of the ways and the clock's error", [] {
        const std::string record =
            round_record(latency, 2, 3, 0.5, {{0, 3, 7, 100, 120, 9, -42}}, 25e-9);
        check::expect(mentions(record, "\"one_way_ps\":[-42],\"clock_error_s\":2.5e-08"));
    });
    return check::outcome();
}
