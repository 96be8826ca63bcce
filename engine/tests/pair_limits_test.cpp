#include "fabricgauge/pair_limits.hpp"

#include "check.hpp"

using namespace fabricgauge;

namespace {

constexpr const char* single = "MPI_THREAD_SINGLE";
constexpr const char* multiple = "MPI_THREAD_MULTIPLE";

Case with(Pattern pattern, std::int64_t bytes) { return {"a", pattern, bytes, 1, 0, 1, 1.0}; }

bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

int main() {
    check::test("accumulate takes whole integers only", [] {
        for (const std::int64_t bytes : {0, 8, 4096})
            check::expect_equal(beyond_pair(with(Pattern::accumulate_latency, bytes), single), "");
        check::expect(says(beyond_pair(with(Pattern::accumulate_latency, 12), single), "12 B"));
    });
    check::test("atomics take one integer only", [] {
        for (const Pattern pattern :
             {Pattern::fetch_and_op_latency, Pattern::compare_and_swap_latency}) {
            check::expect_equal(beyond_pair(with(pattern, 8), single), "");
            for (const std::int64_t bytes : {0, 4, 16})
                check::expect(says(beyond_pair(with(pattern, bytes), single), "8 B, not on"));
        }
    });
    check::test("threads need the level that allows them, and the reason says how", [] {
        const Case measured = with(Pattern::threads_latency, 8);
        check::expect_equal(beyond_pair(measured, multiple), "");
        check::expect(says(beyond_pair(measured, single), "--thread-multiple"));
        check::expect(says(beyond_pair(measured, single), single));
    });
    check::test("what would not be heeded is refused", [] {
        Case measured = with(Pattern::latency, 8);
        measured.threads = 4;
        check::expect(says(beyond_pair(measured, multiple), "threads=4"));
        measured = with(Pattern::bandwidth, 8);
        measured.epoch = Epoch::fence;
        check::expect(says(beyond_pair(measured, multiple), "epoch=fence"));
        measured.pattern = Pattern::put_bandwidth;
        check::expect_equal(beyond_pair(measured, multiple), "");
    });
    check::test("what calculates on its buffers, or is of many pairs, has host memory only", [] {
        MemoryOptions memory;
        memory.origin = memory.target = MemoryKind::cuda;
        for (const Pattern pattern : {Pattern::latency, Pattern::put_bandwidth, Pattern::get_latency,
                                      Pattern::threads_bandwidth, Pattern::bcast, Pattern::ialltoallv})
            check::expect_equal(beyond_memory(with(pattern, 8), memory), "");
        for (const Pattern pattern :
             {Pattern::accumulate_latency, Pattern::fetch_and_op_latency,
              Pattern::compare_and_swap_latency, Pattern::allreduce, Pattern::ireduce_scatter,
              Pattern::barrier, Pattern::multi_latency, Pattern::all_pairs_bandwidth})
            check::expect(says(beyond_memory(with(pattern, 8), memory),
                               " has host memory only: leave out --memory cuda"));
        memory.target = MemoryKind::host;
        check::expect_equal(beyond_memory(with(Pattern::put_latency, 8), memory), "");
        check::expect(says(beyond_memory(with(Pattern::gather, 8), memory),
                           "gather has no origin and target: take --memory cuda"));
        check::expect_equal(beyond_memory(with(Pattern::allreduce, 8), {}), "");
    });
    check::test("buffers are chosen for messages, and one for a window only over MPI and unchecked", [] {
        const auto chosen = [](Pattern pattern, Buffers buffers, bool check_data, bool only_pairs) {
            Case measured = with(pattern, 8);
            measured.buffers = buffers;
            return beyond_buffers(measured, check_data, only_pairs);
        };
        for (const Pattern pattern : {Pattern::put_bandwidth, Pattern::allreduce, Pattern::exchange})
            check::expect(says(chosen(pattern, Buffers::multiple, false, false), "buffers=multiple"));
        for (const Pattern pattern : {Pattern::latency, Pattern::bandwidth, Pattern::threads_bandwidth,
                                      Pattern::bisection, Pattern::all_pairs_latency}) {
            check::expect_equal(chosen(pattern, Buffers::single, false, false), "");
            check::expect_equal(chosen(pattern, Buffers::multiple, true, true), "");
        }
        check::expect_equal(chosen(Pattern::latency, Buffers::single, true, true), "");
        check::expect(says(chosen(Pattern::bandwidth, Buffers::single, true, false), "--check-data"));
        check::expect(says(chosen(Pattern::bandwidth, Buffers::single, false, true), "over MPI"));
        check::expect_equal(chosen(Pattern::put_bandwidth, Buffers::fewest, true, true), "");
    });
    check::test("patterns of many ranks have limits of their own", [] {
        Case measured = with(Pattern::allreduce, 3);
        measured.threads = 2;
        check::expect_equal(beyond_pair(measured, single), "");
    });
    return check::outcome();
}
