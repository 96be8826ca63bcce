"""Tests of a suite by name: words of --tool, and what each starts."""

import msgspec
import pytest

from fabricgauge.check.target import place_ranks
from fabricgauge.logs.tools.table import EFFORTS, SUITE_TESTS, TOOLS, measures_many, read_tool
from fabricgauge.model.errors import UsageError
from fabricgauge.model.request import MeasurementRequest, keep_applicable


def starts(tool: str) -> dict[str, tuple[str, ...]]:
    words = read_tool(tool)
    effort = msgspec.structs.replace(EFFORTS["quick"], tests=words.tests)
    return {start.name: start.client for start in TOOLS[words.suite].starts(effort)}


def test_named_tests_start_their_programs_alone() -> None:
    made = starts("imb:sendrecv,Exchange")
    assert list(made) == ["IMB-MPI1 Sendrecv", "IMB-MPI1 Exchange"]
    assert made["IMB-MPI1 Exchange"] == (
        "IMB-MPI1", "Exchange", "-iter", "10", "-msglog", "22",
    )  # fmt: skip
    assert "-msglog" not in starts("imb:Barrier")["IMB-MPI1 Barrier"]


@pytest.mark.parametrize("suite", SUITE_TESTS)
def test_all_starts_every_test_once(suite: str) -> None:
    made = starts(f"{suite}:all")
    assert len(made) == len(SUITE_TESTS[suite])
    assert {client[0] for client in made.values()} <= set(TOOLS[suite].programs)


def test_the_suite_s_usual_tests_stay() -> None:
    assert list(starts("osu")) == [
        "osu_latency", "osu_bw", "osu_bibw", "osu_put_latency", "osu_put_bw",
    ]  # fmt: skip
    assert list(starts("imb")) == ["IMB-P2P PingPong", "IMB-MPI1 Uniband", "IMB-MPI1 Biband"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("imb:Nosuch", "imb has no test 'Nosuch'; available: all, PingPong"),
        ("iperf3:all", "tests by name are for imb and osu"),
    ],
)
def test_an_unknown_test_is_refused_with_the_list(words: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        read_tool(words)


def test_keys_of_a_suite_are_no_tests() -> None:
    words = read_tool("perftest:queue-pair=ud,path-mtu=1024")
    assert (words.tests, words.keys) == ((), "queue-pair=ud,path-mtu=1024")


@pytest.mark.parametrize(
    ("tool", "many"),
    [("imb:Sendrecv", True), ("imb:Sendrecv,PingPong", False), ("osu", False),
     ("osu:osu_multi_lat,osu_allreduce", True)],
)  # fmt: skip
def test_tests_of_any_number_of_ranks_are_known(tool: str, many: bool) -> None:
    assert measures_many(tool) == many


def test_only_tests_of_many_ranks_have_more_than_two() -> None:
    nodes = ("c1", "c2", "c3", "c4")
    request = MeasurementRequest(tool="imb:Allreduce", ppn=2)
    assert keep_applicable(request, 8) == request
    ranks = ("c1", "c1", "c2", "c2", "c3", "c3", "c4", "c4")
    assert place_ranks(request, nodes) == ranks
    with pytest.raises(UsageError, match="two nodes"):
        place_ranks(MeasurementRequest(tool="imb:PingPong"), nodes)
    with pytest.raises(UsageError, match="--ppn has no effect on imb:PingPong"):
        place_ranks(MeasurementRequest(tool="imb:PingPong", ppn=2), nodes[:2])
