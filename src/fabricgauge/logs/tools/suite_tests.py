"""List the tests of MPI suites by name, and read the words of ``--tool``.

Sources: Intel MPI Benchmarks User Guide 2021.x, "MPI-1 Benchmarks", "IMB-RMA Benchmarks";
README of the OSU Micro-Benchmarks 7.4.
"""

from collections.abc import Iterable, Mapping

import msgspec

from fabricgauge.model.errors import UsageError


class SuiteTest(msgspec.Struct, frozen=True):
    """One test of a suite: the program that has it, and how it is started.

    ``many`` is true if any number of ranks takes part. A sample of a test that ``streams`` is a
    window of messages. A test that is not ``sized`` has no range of sizes.
    """

    name: str
    program: str
    many: bool = False
    streams: bool = False
    sized: bool = True


def _rows(*tests: SuiteTest) -> dict[str, SuiteTest]:
    return {test.name: test for test in tests}


_IMB_MANY = (
    "Sendrecv", "Exchange", "Bcast", "Allgather", "Allgatherv", "Gather", "Gatherv", "Scatter",
    "Scatterv", "Alltoall", "Alltoallv", "Reduce", "Reduce_scatter", "Allreduce", "Barrier",
)  # fmt: skip
IMB_TESTS: Mapping[str, SuiteTest] = _rows(
    SuiteTest("PingPong", "IMB-P2P"),
    SuiteTest("PingPing", "IMB-MPI1"),
    SuiteTest("Uniband", "IMB-MPI1", streams=True),
    SuiteTest("Biband", "IMB-MPI1", streams=True),
    *(SuiteTest(name, "IMB-MPI1", many=True, sized=name != "Barrier") for name in _IMB_MANY),
    *(SuiteTest(name, "IMB-RMA") for name in ("Unidir_put", "Unidir_get", "Bidir_put")),
)

_OSU_PAIR = (
    "osu_latency", "osu_bw", "osu_bibw", "osu_latency_mt", "osu_latency_mp",
    "osu_latency_persistent", "osu_bw_persistent", "osu_bibw_persistent",
    "osu_put_latency", "osu_put_bw", "osu_put_bibw", "osu_get_latency", "osu_get_bw",
    "osu_acc_latency", "osu_get_acc_latency", "osu_cas_latency", "osu_fop_latency",
)  # fmt: skip
_OSU_COLLECTIVES = (
    "allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier", "bcast", "gather",
    "gatherv", "reduce", "reduce_scatter", "scatter", "scatterv",
)  # fmt: skip
_WITHOUT_SIZES = ("osu_cas_latency", "osu_fop_latency", "osu_barrier", "osu_ibarrier")
_OSU_MANY = (
    "osu_multi_lat", "osu_mbw_mr", *(f"osu_{name}" for name in _OSU_COLLECTIVES),
    *(f"osu_i{name}" for name in _OSU_COLLECTIVES),
)  # fmt: skip
OSU_TESTS: Mapping[str, SuiteTest] = _rows(
    *(SuiteTest(name, name, sized=name not in _WITHOUT_SIZES) for name in _OSU_PAIR),
    *(SuiteTest(name, name, many=True, sized=name not in _WITHOUT_SIZES) for name in _OSU_MANY),
)

SUITE_TESTS: Mapping[str, Mapping[str, SuiteTest]] = {"imb": IMB_TESTS, "osu": OSU_TESTS}


class ToolWords(msgspec.Struct, frozen=True):
    """The words of ``--tool SUITE[:TEST,…][:KEY=VALUE,…]``; ``keys`` are as they were given."""

    suite: str
    tests: tuple[str, ...] = ()
    keys: str = ""


def read_tool(text: str) -> ToolWords:
    """Read the words of ``--tool``; ``all`` means every test of the suite.

    Raises:
        UsageError: the suite has no test of that name; the message lists its tests.
    """
    suite, _, listed = text.partition(":")
    words = [word.strip() for word in listed.split(",") if word.strip()]
    keys = ",".join(word for word in words if "=" in word)
    names = [word for word in words if "=" not in word]
    tests = SUITE_TESTS.get(suite, {})
    by_folded = {name.casefold(): name for name in tests}
    chosen: list[str] = []
    for name in names:
        if name.casefold() == "all" and tests:
            chosen += tests
        elif name.casefold() in by_folded:
            chosen.append(by_folded[name.casefold()])
        elif tests:
            raise UsageError(f"{suite} has no test {name!r}; available: all, {', '.join(tests)}")
        else:
            raise UsageError(
                f"--tool {suite}:{name}: tests by name are for {' and '.join(SUITE_TESTS)};"
                " write other settings as KEY=VALUE"
            )
    return ToolWords(suite, tuple(dict.fromkeys(chosen)), keys)


def chosen_tests(suite: str, names: Iterable[str]) -> tuple[SuiteTest, ...]:
    return tuple(SUITE_TESTS[suite][name] for name in names)


def measures_many(text: str) -> bool:
    """Check whether the words of ``--tool`` name only tests of any number of ranks."""
    words = read_tool(text)
    tests = chosen_tests(words.suite, words.tests) if words.tests else ()
    return bool(tests) and all(test.many for test in tests)
