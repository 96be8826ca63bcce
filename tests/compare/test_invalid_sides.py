"""A side that is not what it claims to be, or lacks a curve, never makes a pass."""

from pathlib import Path

import msgspec
import pytest
from tests.compare.test_comparing import compared as held
from tests.compare.test_comparing import means

from fabricgauge.check.import_logs import Source, import_logs
from fabricgauge.compare.comparing import AS_OF_A_RUN
from fabricgauge.compare.sides import compare_operands, find_side, with_doubts
from fabricgauge.judge.ceiling.stated import stated_network
from fabricgauge.model.comparison import Comparison
from fabricgauge.model.progress import SILENT
from fabricgauge.model.suite import LogEvidence, SuiteCurve, VerbsEnd
from fabricgauge.model.verdict import exit_status
from fabricgauge.report.content.comparison import headline
from fabricgauge.store.run_directory import RunDirectory

RUNS = Path(__file__).parents[1] / "fixtures/runs"
HEALTHY, ONE_NODE, IMPORTED, UNPINNED = (
    str(RUNS / f"0.1.0--{name}") for name in ("healthy", "one-node", "imported", "unpinned")
)
SOUND, IN_MEMORY = "guide-1gbe-imb-pingpong", "guide-40gbe-imb-pingpong"


def status(found: Comparison) -> int:
    return exit_status(AS_OF_A_RUN[found.outcome])


@pytest.mark.parametrize(
    ("a", "b", "blamed"),
    [
        (SOUND, IN_MEMORY, "B is INVALID"), (IN_MEMORY, SOUND, "A is INVALID"),
        (HEALTHY, ONE_NODE, "B is INVALID (placement, net1)"), (ONE_NODE, HEALTHY, "A is INVALID"),
        (HEALTHY, IN_MEMORY, "B is INVALID"),
        (ONE_NODE, SOUND, "A is INVALID"), (IMPORTED, HEALTHY, "A is INVALID (floor"),
    ],
)  # fmt: skip
def test_a_comparison_with_an_invalid_side_is_invalid(
    tmp_path: Path, a: str, b: str, blamed: str
) -> None:
    found = compare_operands(a, b, tmp_path, 0.05)
    assert (found.outcome, status(found)) == ("invalid", 3)
    assert blamed in headline(found)


@pytest.mark.parametrize(("a", "b"), [(HEALTHY, HEALTHY), (SOUND, SOUND)])
def test_a_sound_side_against_itself_compares_nothing(tmp_path: Path, a: str, b: str) -> None:
    found = compare_operands(a, b, tmp_path, 0.05)
    assert (found.outcome, status(found)) == ("invalid", 3)
    assert not any((*found.a.invalid, *found.b.invalid))
    assert "A and B hold the same" in headline(found)


def test_a_table_that_is_not_compared_does_not_make_the_others_invalid(tmp_path: Path) -> None:
    stream = means({65536: 12e9, 1 << 20: 12.2e9}, "bandwidth", source="a.out", first_line=20)
    tables = [memory(0.2e-6, source="a.out", first_line=3), stream]
    runs = []
    for _ in range(2):
        directory = RunDirectory.create(tmp_path)
        import_logs([Source("a.out", tables, stated_network("edr"))], directory, (), SILENT)
        runs.append(str(directory.path))
    a, b = runs
    found = compare_operands(a, b, tmp_path, 0.05)
    assert (found.outcome, found.shared) == ("invalid", "")  # two tables have too few digits
    found = compare_operands(a, b, tmp_path, 0.05, "bandwidth")
    assert (found.outcome, found.a.invalid) == ("no regression", ())


def test_a_run_that_decided_nothing_says_so() -> None:
    for run, word in ((UNPINNED, "its verdict is INCONCLUSIVE"), (HEALTHY, "")):
        notes = with_doubts(find_side(run, RUNS)).notes
        assert any(one.startswith("its verdict is") for one in notes) == bool(word), notes
        assert word in " ".join(notes)


def memory(value: float = 0.44e-6, **said: object) -> SuiteCurve:
    return means({8: value, 1024: value * 1.4}, "latency", **said)


@pytest.mark.parametrize(
    ("a", "b", "outcome"),
    [
        (12e-6, 0.44e-6, "invalid"), (0.44e-6, 12e-6, "invalid"),
        (0.44e-6, 0.44e-6, "no regression"),  # two MPIs inside a node
        (0.49e-6, 0.51e-6, "no regression"), (1.2e-6, 1.2e-6, "no regression"),
    ],
)  # fmt: skip
def test_memory_is_not_held_against_a_network(a: float, b: float, outcome: str) -> None:
    assert held([memory(a)], [memory(b)]).outcome == outcome


ONE_PORT = LogEvidence(verbs_ends=(VerbsEnd(7), VerbsEnd(7)))


@pytest.mark.parametrize(
    "inside",
    [{"hosts": ("c1", "c1")}, {"evidence": ONE_PORT},
     {"evidence": LogEvidence(rank_hosts=("c1", "c1"))}],
)  # fmt: skip
def test_a_stream_between_two_ranks_of_a_host_is_not_held_against_a_network(
    inside: dict[str, object],
) -> None:
    within = means({65536: 12e9, 1 << 20: 12e9}, "bandwidth", **inside)
    across = means({65536: 12e9, 1 << 20: 12e9}, "bandwidth", hosts=("c1", "c2"))
    assert held([across], [within]).outcome == "invalid"
    assert held([within], [across]).outcome == "invalid"
    assert held([within], [within]).outcome == "no regression"
    assert held([across], [across]).outcome == "no regression"


def test_a_curve_that_b_lacks_leaves_nothing_decided() -> None:
    latency = means({8: 1.2e-6})
    stream = means({65536: 12e9}, "bandwidth", benchmark="osu_bw")
    found = held([latency, stream], [latency])
    assert (found.outcome, status(found)) == ("undecided", 3)
    assert [one.curve.benchmark for one in found.unmatched if one.lost] == ["osu_bw"]
    assert "B lacks 1 curve that A has: osu osu_bw" in headline(found)
    assert held([latency], [latency, stream]).outcome == "no regression"


def test_a_curve_without_a_size_of_a_s_is_lacking() -> None:
    latency = means({8: 1.2e-6})
    stream, other = (means({size: 12e9}, "bandwidth") for size in (65536, 1 << 20))
    assert held([latency, stream], [latency, other]).outcome == "undecided"


def test_a_table_without_a_figure_is_lacking() -> None:
    latency, stream = means({8: 1.2e-6}), means({65536: 12e9}, "bandwidth")
    empty = msgspec.structs.replace(stream, points=(), cut_off="no end")
    assert held([latency, stream], [latency, empty]).outcome == "undecided"


def test_the_other_columns_of_a_table_are_not_lacking() -> None:
    """One generation of a suite prints messages/s beside MB/s, another does not."""
    stream = means({65536: 12e9}, "bandwidth", first_line=3)
    rate = means({65536: 2e5}, None, first_line=3, quantity="message_rate", benchmark="bandwidth")
    assert held([stream, rate], [stream]).outcome == "no regression"


def test_several_curves_are_named_with_commas(tmp_path: Path) -> None:
    found = compare_operands(HEALTHY, HEALTHY, tmp_path, 0.05, "latency,bandwidth")
    assert {pair.a.pattern for pair in found.pairs} == {"latency", "bandwidth"}
