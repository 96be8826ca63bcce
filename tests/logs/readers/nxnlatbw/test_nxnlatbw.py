import itertools
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.logs.readers.reading import curves_of

from fabricgauge.check.conclude import conclude
from fabricgauge.judge.localise.matrices import matrices
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.logs.readers.nxnlatbw import infer_nodes
from fabricgauge.logs.readers.suites import read
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.plan import Plan, Stopping
from fabricgauge.model.run import IMPORTED, Ended, Launch, Run
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import Outcome
from fabricgauge.nodes.launch.launchers.nodes import expand_ranks

NAME = "2005--six-ranks-slow-fourth"
HEADING = "src,dst,lat(us),bandwidth((Mbytes/sec)"


def curves_in(text: str) -> list[SuiteCurve]:
    lines = text.encode().splitlines(keepends=True)
    return [item for item in read(lines) if isinstance(item, SuiteCurve)]


def launch_of(curves: list[SuiteCurve], nodes: tuple[str, ...]) -> Launch:
    ended = Ended(IMPORTED, 0, "", ("a.log",), 0.0)
    return Launch(1, "net", nodes, None, (), (), ended, curves=tuple(curves))


def test_a_table_is_median_least_largest_and_mean_over_all_pairs() -> None:
    latency, bandwidth = curves_of("nxnlatbw", NAME)
    (late,), (fast,) = latency.points, bandwidth.points
    assert (late.message_bytes, fast.message_bytes) == (0, 4 << 20)
    assert (latency.ranks, fast.estimate.samples) == (6, 30)
    assert late.estimate.value == pytest.approx(0.95e-6)
    assert fast.besides["minimum"] == pytest.approx(3069.991934e6, rel=1e-3)
    assert fast.besides["maximum"] == pytest.approx(12281e6, rel=1e-2)
    assert fast.besides["minimum"] < fast.besides["mean"] < fast.estimate.value
    assert "rank 3" in bandwidth.settings["slowest pair"]


def test_pairs_become_matrices_and_a_latency_has_two_passes() -> None:
    nodes = tuple(f"n{number}" for number in range(1, 7))
    late, fast = matrices([launch_of(curves_of("nxnlatbw", NAME), nodes)])
    assert (late.quantity, fast.quantity) == ("latency", "bandwidth")
    assert late.nodes == fast.nodes == nodes
    assert late.repeats.shape == (2, 6, 6) and fast.repeats.shape == (1, 6, 6)
    assert (late.values[0, 1], fast.values[0, 3]) == pytest.approx((0.95e-6, 3069.991934e6))
    assert late.coverage == fast.coverage == 1.0


def test_ranks_of_one_node_are_one_and_unknown_nodes_are_ranks() -> None:
    curves = curves_of("nxnlatbw", NAME)
    late, _ = matrices([launch_of(curves, ("a", "a", "b", "b", "c", "c"))])
    assert late.nodes == ("a", "b", "c") and late.coverage == 1.0
    late, _ = matrices([launch_of(curves, ())])
    assert late.nodes == tuple(f"rank {number}" for number in range(6))


def test_a_broken_or_missing_row_is_reported() -> None:
    rows = ["0,1,1.00,100.000000 ", "1,0,nan,100.000000 "]
    latency, bandwidth = curves_in("\n".join([HEADING, *rows, ""]))
    assert latency.cut_off == bandwidth.cut_off == "1 of 2 pairs have a row"
    assert [failure.trouble for failure in latency.failures] == ["not a number"]
    last_digits_missing = curves_in(f"{HEADING}\n0,1,1.00,100.000000 \n1,0,1.00,100.0")
    assert last_digits_missing[0].failures[0].trouble == "cut off"
    again = curves_in("\n".join([HEADING, rows[0], "1,0,1.00,100.000000 ", rows[0], ""]))
    assert [failure.trouble for failure in again[0].failures] == ["repeated"]
    assert curves_in(f"{HEADING}\n")[0].cut_off == "ends before its first row"


@given(st.integers(2, 7), st.randoms(use_true_random=False))
def test_any_order_of_rows_gives_the_same_matrix(ranks: int, chance: random.Random) -> None:
    pairs = [*itertools.permutations(range(ranks), 2)]
    rates = {pair: chance.uniform(1.0, 1e5) for pair in pairs}
    rows = [f"{a},{b},{1 + a + b}.00,{rates[a, b]:f} " for a, b in pairs]
    chance.shuffle(rows)
    _, bandwidth = curves_in("\n".join([HEADING, *rows, ""]))
    assert bandwidth.cut_off == "" and bandwidth.evidence.rank_pairs is not None
    values = bandwidth.evidence.rank_pairs.values
    for (a, b), rate in rates.items():
        assert values[a * ranks + b] == pytest.approx(rate * 1e6, rel=1e-4, abs=1)
    assert bandwidth.points[0].estimate.value == pytest.approx(
        statistics.median(rates.values()) * 1e6, rel=1e-4
    )


def verdicts(name: str) -> list[tuple[str, str, Outcome]]:
    """Return rule, kind of subject and outcome of the log as an import of Omni-Path."""
    nodes = tuple(f"n{number}" for number in range(1, 7))
    network = Network("net", "0.0.0.0/0", "omni-path", 100e9, "stated", (), stated_mtu_bytes=10240)
    fabric = Fabric(nodes=(), unreached=(), networks=(network,))
    plan = Plan("import", Stopping(0.0, 0.0), False, (), tool="import")
    launch = launch_of(curves_of("nxnlatbw", name), nodes)
    judged = conclude(Run("r", "", (), {}, fabric, plan, (launch,), complete=True), DEFAULTS)
    assert len(judged.fabric.analyses) == 2
    return [
        (verdict.rule, " ".join(verdict.about.names), verdict.outcome)
        for verdict in judged.verdicts
        if verdict.rule in ("pairs", "outliers", "fraction")
    ]


def test_the_slow_node_of_an_imported_matrix_is_named_and_a_healthy_one_passes() -> None:
    assert verdicts(NAME) == [
        ("outliers", "n4", Outcome.INCONCLUSIVE),
        ("pairs", "n4", Outcome.FAIL),
        ("fraction", "any node any other", Outcome.PASS),
    ]
    assert {outcome for *_, outcome in verdicts("2005--six-ranks")} == {Outcome.PASS}


@pytest.mark.parametrize(("text", "nodes"), [
    ("c0,c0,c1,c1", ("c0", "c0", "c1", "c1")), ("c2,c[0-1],c2", ("c2", "c0", "c1", "c2")),
    ("c[0-2],c1!c1", ("c0", "c2")),
])  # fmt: skip
def test_a_node_with_two_ranks_is_written_twice(text: str, nodes: tuple[str, ...]) -> None:
    assert expand_ranks(text, "--hosts") == nodes


def test_a_heading_with_foreign_units_is_refused() -> None:
    assert not curves_in("src,dst,lat(us),bandwidth(GBytes/s)\n0,1,1.00,12.3 \n1,0,1.00,12.3 \n")


def outcomes(text: str, nodes: tuple[str, ...]) -> dict[str, Outcome]:
    network = Network("net", "0.0.0.0/0", "omni-path", 100e9, "stated", (), stated_mtu_bytes=10240)
    fabric = Fabric(nodes=(), unreached=(), networks=(network,))
    plan = Plan("import", Stopping(0.0, 0.0), False, (), tool="import")
    launch = launch_of(curves_in(text), nodes)
    judged = conclude(Run("r", "", (), {}, fabric, plan, (launch,), complete=True), DEFAULTS)
    return {verdict.rule: verdict.outcome for verdict in judged.verdicts}


def rows_of(
    nodes: list[int], within_us: float = 0.35, within: float = 9000.0, slow: int = -1,
    across: float = 12300.0,
) -> str:  # fmt: skip
    """The log of ranks on these nodes; the links of node ``slow`` run at a quarter."""
    rows = []
    for a, b in itertools.permutations(range(len(nodes)), 2):
        inside = nodes[a] == nodes[b]
        rate = within + a if inside else across + a + b
        rate /= 4.0 if not inside and slow in (nodes[a], nodes[b]) else 1.0
        rows.append(f"{a},{b},{within_us if inside else 0.95:.2f},{rate:.6f} ")
    return "\n".join([HEADING, *rows, ""])


BLOCKS = [rank // 8 for rank in range(32)]
CYCLIC = [rank % 4 for rank in range(32)]
#: Eight ranks on each of three nodes, and two on the fourth.
UNEVEN = [*BLOCKS[:26]]


@pytest.mark.parametrize("nodes", [BLOCKS, CYCLIC])
@pytest.mark.parametrize("stated", [True, False])
@pytest.mark.parametrize("within", [9000.0, 16000.0])
def test_ranks_that_share_nodes_pass_with_and_without_their_names(
    nodes: list[int], stated: bool, within: float
) -> None:
    """Eight ranks on each of four nodes: memory is quicker than the network, or slower."""
    names = tuple(f"c{node}" for node in nodes) if stated else ()
    found = outcomes(rows_of(nodes, within=within), names)
    for rule in ("floor", "above-ceiling", "pairs", "fraction"):
        assert found[rule] is Outcome.PASS, rule
    assert Outcome.WARN not in found.values()


@pytest.mark.parametrize("stated", [True, False])
def test_a_slow_node_of_ranks_that_share_nodes_is_found(stated: bool) -> None:
    names = tuple(f"c{node}" for node in BLOCKS) if stated else ()
    assert outcomes(rows_of(BLOCKS, slow=2), names)["pairs"] is Outcome.FAIL


@pytest.mark.parametrize(
    "text",
    [rows_of(UNEVEN), rows_of(UNEVEN, within=16000.0), rows_of(BLOCKS, 0.75, within=16000.0),
     rows_of(BLOCKS).replace("0,1,0.35", "0,1,0.95")],
    ids=["uneven", "uneven and quick", "slow memory", "one odd latency"],
)  # fmt: skip
def test_ranks_whose_nodes_the_latencies_do_not_show_are_undecided(text: str) -> None:
    found = outcomes(text, ())
    assert Outcome.INVALID not in found.values()
    assert Outcome.FAIL not in found.values()
    assert found["fraction"] is Outcome.INCONCLUSIVE


def test_one_rank_on_each_node_needs_no_names_and_half_the_rate_fails() -> None:
    assert outcomes(rows_of([*range(8)]), ())["fraction"] is Outcome.PASS
    assert outcomes(rows_of([*range(8)], across=6150.0), ())["fraction"] is Outcome.FAIL


def test_all_ranks_on_one_node_are_invalid() -> None:
    assert outcomes(rows_of([0] * 8), ())["floor"] is Outcome.INVALID
    assert outcomes(rows_of([*range(8)], across=16000.0), ())["above-ceiling"] is Outcome.INVALID


@given(
    nodes=st.integers(2, 6), ppn=st.integers(1, 4), chance=st.randoms(use_true_random=False),
)  # fmt: skip
def test_equal_nodes_are_found_in_any_order_of_ranks(
    nodes: int, ppn: int, chance: random.Random
) -> None:
    placed = [node for node in range(nodes) for _ in range(ppn)]
    chance.shuffle(placed)
    late_s = {
        (a, b): chance.uniform(0.1e-6, 0.7e-6) if placed[a] == placed[b]
        else chance.uniform(0.8e-6, 3e-6)
        for a, b in itertools.permutations(range(len(placed)), 2)
    }  # fmt: skip
    found = infer_nodes(late_s, len(placed))
    if ppn == 1:
        assert found == ()
    else:
        assert [found.index(name) for name in found] == [placed.index(node) for node in placed]


@pytest.mark.parametrize(("within_us", "stated", "expected"), [
    (0.35, False, Outcome.PASS), (0.35, True, Outcome.PASS), (0.95, False, Outcome.WARN),
])  # fmt: skip
def test_pairs_inside_a_node_are_no_fault(
    within_us: float, stated: bool, expected: Outcome
) -> None:
    """Two ranks on each of eight nodes: 9 GB/s inside a node; or a slow network without one."""
    nodes = [rank // 2 for rank in range(16)]
    names = tuple(f"c{node}" for node in nodes) if stated else ()
    assert outcomes(rows_of(nodes, within_us), names)["pairs"] is expected
