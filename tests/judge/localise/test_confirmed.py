"""A suspect is named once every one of its pairs is slower than every good one."""

from itertools import permutations

import msgspec
import pytest
from tests.judge import planted_fabric as many

from fabricgauge.judge.localise.confirm import confirm
from fabricgauge.judge.localise.detect import analyse_all
from fabricgauge.judge.localise.matrices import matrices
from fabricgauge.judge.stats.series import Series, series_of
from fabricgauge.model.fabric import Group, Topology
from fabricgauge.model.pairs import PairAnalysis, PairFinding, Part, Rechecked, Suspect

PAIRS = [
    (0, 1),
    (1, 0),
    (0, 2),
    (2, 0),
    (0, 3),
    (3, 0),
    (1, 2),
    (2, 1),
    (1, 3),
    (3, 1),
    (2, 3),
    (3, 2),
]


def bandwidth(*suspects: Suspect) -> PairAnalysis:
    """A sound matrix of four nodes in which somebody is suspected nevertheless."""
    made = analyse_all(matrices([many.launch(4, many.rounds(4))]), Topology())
    (one,) = (each for each in made if each.matrix.quantity == "bandwidth")
    return msgspec.structs.replace(one, suspects=suspects)


def series(shares: many.Pairs) -> tuple[Series, ...]:
    return series_of([many.again(4, PAIRS, shares)])


def settled_one(given: PairAnalysis, seen: tuple[Series, ...]) -> PairAnalysis:
    (found,) = confirm([given], seen)
    return found


def said(of: PairAnalysis) -> tuple[tuple[PairFinding, ...], tuple[Suspect, ...]]:
    return of.findings, of.suspects


SENDING = Suspect("sender", ("c1",), "bandwidth", -0.7, "noise", "again")
RECEIVING = Suspect("receiver", ("c1",), "bandwidth", -0.7, "noise", "again")


def test_both_directions_of_a_node_that_is_slow_again_are_that_node() -> None:
    found = settled_one(bandwidth(SENDING, RECEIVING), series(many.slow(0)))
    (finding,) = found.findings
    assert (finding.part, finding.names) == ("node", ("c1",))
    assert finding.effect == pytest.approx(-0.75, abs=0.02)
    assert finding.low <= finding.effect <= finding.high
    assert 0 < finding.q <= 0.05
    assert found.suspects == ()


def test_a_suspect_that_is_as_fast_as_the_others_stays_one() -> None:
    given = bandwidth(SENDING, RECEIVING)
    assert said(settled_one(given, series(many.sound))) == said(given)


def test_nobody_is_named_without_a_second_measurement() -> None:
    given = bandwidth(SENDING)
    assert settled_one(given, ()) is given


def test_a_clear_but_small_difference_is_no_fault() -> None:
    given = bandwidth(SENDING)
    assert said(settled_one(given, series(many.slow(0, share=0.97)))) == said(given)


def test_one_pair_of_each_is_too_few_whatever_it_shows() -> None:
    given = bandwidth(SENDING)
    few = series_of([many.again(4, [(0, 1), (1, 2)], many.slow(0))])
    assert said(settled_one(given, few)) == said(given)


def test_nodes_that_are_slow_beyond_their_group_only_are_not_named_but_their_group_is() -> None:
    leaves = tuple(
        Group(f"leaf{number}", (f"c{2 * number - 1}", f"c{2 * number}")) for number in (1, 2, 3)
    )
    both = [
        Suspect(part, (name,), "bandwidth", -0.5, "noise", "again")
        for name in leaves[0].nodes
        for part in ("sender", "receiver")
    ]

    def crossing(origin: int, target: int) -> float:
        return many.sound(origin, target) * (0.5 if (origin < 2) != (target < 2) else 1.0)

    seen = series_of([many.again(6, [*permutations(range(6), 2)], crossing)])
    given = msgspec.structs.replace(bandwidth(*both), groups=leaves)
    (finding,) = settled_one(given, seen).findings
    assert (finding.part, finding.names) == ("group", ("leaf1",))
    assert finding.effect == pytest.approx(-0.5, abs=0.02)
    assert isinstance(finding.rechecked, Rechecked)
    assert finding.rechecked.confirmed
    unknown = msgspec.structs.replace(given, groups=leaves[:1])
    assert settled_one(unknown, seen).findings == ()


def test_a_group_slow_in_one_direction_is_confirmed_by_that_direction() -> None:
    leaf = Group("leaf1", ("c1", "c2"))
    uplink = PairFinding(
        "group", ("leaf1",), "bandwidth", many.MIB, -0.5, -0.5, -0.5, 0.0, 8, "fault", ()
    )

    def inwards(origin: int, target: int) -> float:
        return many.sound(origin, target) * (0.5 if origin >= 2 > target else 1.0)

    given = msgspec.structs.replace(bandwidth(), groups=(leaf,), findings=(uplink,))
    seen = series_of([many.again(6, [*permutations(range(6), 2)], inwards)])
    (finding,) = settled_one(given, seen).findings
    assert isinstance(finding.rechecked, Rechecked)
    assert finding.rechecked.confirmed
    assert finding.rechecked.effect == pytest.approx(-0.5, abs=0.02)


def test_a_suspect_group_is_named_unless_its_nodes_are_slow_among_themselves() -> None:
    leaf = Group("leaf1", ("c1", "c2"))
    suspect = Suspect("group", ("leaf1",), "bandwidth", -0.5, "by the median", "again")
    given = msgspec.structs.replace(bandwidth(suspect), groups=(leaf,))

    def crossing(origin: int, target: int) -> float:
        return many.sound(origin, target) * (0.5 if (origin < 2) != (target < 2) else 1.0)

    def everywhere(origin: int, target: int) -> float:
        return many.sound(origin, target) * (0.5 if min(origin, target) < 2 else 1.0)

    pairs = [*permutations(range(6), 2)]
    named = settled_one(given, series_of([many.again(6, pairs, crossing)])).findings
    assert [(one.part, one.names) for one in named] == [("group", ("leaf1",))]
    assert settled_one(given, series_of([many.again(6, pairs, everywhere)])).findings == ()


def test_a_doubtful_node_of_four_leaves_enough_to_compare_with() -> None:
    doubtful = Suspect("node", ("c4",), "latency", 0.06, "chance", "again")
    made = analyse_all(matrices([many.launch(4, many.rounds(4))]), Topology())
    (given,) = (each for each in made if each.matrix.quantity == "latency")
    late = Suspect("node", ("c1",), "latency", 66.0, "noise", "again")
    given = msgspec.structs.replace(given, suspects=(late,), doubtful=(doubtful,))
    pairs = [pair for pair in PAIRS if pair[0] < pair[1]]

    def latencies(origin: int, target: int) -> float:
        return many.even(origin, target) * (67.0 if 0 in {origin, target} else 1.0)

    found = settled_one(given, series_of([many.again(4, pairs, many.sound, latencies)]))
    (finding,) = found.findings
    assert (finding.part, finding.names) == ("node", ("c1",))
    assert finding.effect == pytest.approx(66.0, rel=0.02)
    healthy = settled_one(given, series_of([many.again(4, pairs, many.sound)]))
    assert healthy.findings == ()


def test_nodes_of_a_named_group_are_not_named_for_it() -> None:
    leaf = Group("leaf1", ("c1", "c2", "c3", "c4"))
    suspect = Suspect("node", ("c2",), "bandwidth", -0.1, "slow in 12 of its 62 pairs", "again")
    given = msgspec.structs.replace(bandwidth(suspect), groups=(leaf,))
    uplink = PairFinding(
        "group", ("leaf1",), "bandwidth", many.MIB, -0.1, -0.1, -0.1, 0.0, 192, "fault", ()
    )
    given = msgspec.structs.replace(given, findings=(uplink,))

    def crossing(origin: int, target: int) -> float:
        return many.sound(origin, target) * (0.9 if (origin < 4) != (target < 4) else 1.0)

    pairs = [(one, other) for one in range(8) for other in range(8) if one != other]
    found = settled_one(given, series_of([many.again(8, pairs, crossing)]))
    assert [(one.part, one.names) for one in found.findings] == [("group", ("leaf1",))]
    assert found.suspects == ()


@pytest.mark.parametrize("part", ["node", "sender"])
def test_a_node_that_is_named_already_is_not_named_twice(part: Part) -> None:
    scatters = Suspect("node", ("c1",), "bandwidth", 0.0, "its samples scatter", "other work")
    fault = PairFinding(part, ("c1",), "bandwidth", many.MIB, -0.7, -0.7, -0.7, 0.0, 6, "fault", ())
    given = msgspec.structs.replace(bandwidth(scatters), findings=(fault,))
    found = settled_one(given, series(many.slow(0)))
    assert [(one.part, one.names) for one in found.findings] == [("node", ("c1",))]
    assert found.suspects == ()
