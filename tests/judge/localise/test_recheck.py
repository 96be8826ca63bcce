from itertools import combinations
from math import comb

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.check.plan.asked import GBE_BYTES_PER_S, network

from fabricgauge.check.plan.plan import recheck_launch
from fabricgauge.judge.localise.limits import CONTROLS, FEWEST_NODES, MOST_SUSPECTS, PARTNERS
from fabricgauge.judge.localise.recheck import meetings, streams_alone
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Group, Topology
from fabricgauge.model.pairs import PairFinding, PairMatrix, Part, Recheck, Suspect
from fabricgauge.model.plan import PlannedLaunch

NODES = tuple(f"c{number}" for number in range(12))
LEAVES = Topology((Group("leaf1", NODES[:4]), Group("leaf2", NODES[4:8])), "written")


def finding(
    part: Part, *names: str, effect: float = -0.5, message_bytes: int = 2**20
) -> PairFinding:
    return PairFinding(
        part, names, "bandwidth", message_bytes, effect, -0.6, -0.4, 0.01, 7, "fault", ()
    )


NOWHERE = Topology()


def asked(*accused: PairFinding | Suspect, healthy: tuple[str, ...] = NODES) -> Recheck:
    return meetings("net1", accused, (), healthy, LEAVES)


def launch_of(made: Recheck) -> PlannedLaunch:
    assert not isinstance(made.meetings, Skipped)
    return recheck_launch(7, network("net1"), made.meetings, made.nodes, GBE_BYTES_PER_S)


def planned(*accused: PairFinding | Suspect, healthy: tuple[str, ...] = NODES) -> PlannedLaunch:
    return launch_of(asked(*accused, healthy=healthy))


def met(launch: PlannedLaunch) -> set[frozenset[str]]:
    """Who meets whom."""
    return {frozenset((launch.nodes[c.origin], launch.nodes[c.target])) for c in launch.cases}


def test_a_suspect_node_meets_good_partners_and_these_meet_each_other() -> None:
    launch = planned(finding("node", "c1"))
    suspects = {pair for pair in met(launch) if "c1" in pair}
    assert len(suspects) == PARTNERS
    controls = met(launch) - suspects
    assert len(controls) == comb(CONTROLS, 2)
    assert not any("c1" in pair for pair in controls)


def test_both_ways_are_streamed_and_latency_is_measured_as_well() -> None:
    launch = planned(finding("sender", "c1"))
    between = [c for c in launch.cases if {c.origin, c.target} == {0, 1}]
    ways = {(c.pattern, c.origin, c.target) for c in between}
    assert ways == {("latency", 0, 1), ("bandwidth", 0, 1), ("bandwidth", 1, 0)}


def test_the_size_of_the_accusation_is_measured() -> None:
    launch = planned(finding("node", "c1", message_bytes=65536))
    assert {c.message_bytes for c in launch.cases} == {8, 65536, 2**20}


def test_one_partner_is_of_the_suspect_s_own_group() -> None:
    launch = planned(finding("node", "c5"), healthy=("c0", "c1", "c2", "c3", "c6"))
    partners = {name for pair in met(launch) if "c5" in pair for name in pair} - {"c5"}
    assert "c6" in partners
    assert len(partners) == PARTNERS


def test_both_ends_of_a_suspect_pair_meet_good_partners_and_each_other() -> None:
    pairs = met(planned(finding("pair", "c1", "c2")))
    assert frozenset(("c1", "c2")) in pairs
    for end in ("c1", "c2"):
        assert len([pair for pair in pairs if end in pair]) == PARTNERS + 1


def test_nodes_of_a_suspect_group_meet_only_nodes_outside_and_each_other() -> None:
    pairs = met(planned(finding("group", "leaf1")))
    inside = set(NODES[:4])
    assert [pair for pair in pairs if pair <= inside] == [frozenset(("c0", "c1"))]
    assert len([pair for pair in pairs if len(pair & inside) == 1]) == 2 * PARTNERS


def test_doubtful_nodes_of_four_are_partners_where_nobody_else_is() -> None:
    four = NODES[:4]
    doubtful = [Suspect("node", (name,), "latency", 0.05, "noise", "again") for name in four[1:]]
    pairs = met(launch_of(meetings("net1", [finding("node", "c0")], doubtful, four, NOWHERE)))
    assert pairs == {frozenset(pair) for pair in combinations(four, 2)}


def test_good_pairs_cross_between_groups() -> None:
    pairs = met(planned(finding("node", "c11")))
    good = {node for pair in pairs for node in pair if "c11" not in pair}
    assert {"c0", "c4", "c8"} <= good


def test_a_suspect_meets_one_of_its_group_even_if_all_of_these_are_suspected() -> None:
    accused = [finding("node", name) for name in LEAVES.groups[0].nodes]
    pairs = met(planned(*accused))
    for node in LEAVES.groups[0].nodes:
        assert any(node in pair and pair <= {*LEAVES.groups[0].nodes} for pair in pairs)


def test_a_suspect_is_no_good_partner_when_it_is_called_healthy() -> None:
    accused = (finding("node", "c0"), finding("receiver", "c1"))
    pairs = met(planned(*accused))
    assert frozenset(("c0", "c1")) not in pairs


def test_the_worst_are_chosen_when_there_are_many() -> None:
    nodes = tuple(f"n{number}" for number in range(MOST_SUSPECTS + 3))
    accused = [finding("node", name, effect=-place / 100) for place, name in enumerate(nodes)]
    made = asked(*accused)
    assert not set(made.nodes) & {"n0", "n1", "n2"}


def test_a_group_of_unknown_nodes_is_left_out() -> None:
    made = asked(finding("group", "nowhere"), finding("node", "c1"))
    assert "c1" in made.nodes and set(made.nodes) <= set(NODES)


def test_nothing_is_planned_when_there_is_no_suspect_or_no_good_partner() -> None:
    nobody = meetings("net1", (), (), NODES, NOWHERE).meetings
    alone = meetings("net1", (finding("node", "c1"),), (), ("c1",), NOWHERE).meetings
    assert isinstance(nobody, Skipped)
    assert isinstance(alone, Skipped)
    assert "partner" in alone.reason


parts = st.sampled_from(("node", "sender", "receiver"))
names = st.lists(st.sampled_from(NODES), min_size=1, max_size=6, unique=True)


@given(names, parts, st.lists(st.sampled_from(NODES), min_size=1, unique=True))
def test_every_case_is_one_pair_of_two_nodes_and_named_once(
    accused: list[str], part: Part, healthy: list[str]
) -> None:
    suspects = [
        Suspect(part, (name,), "latency", 0.1, "jitter", "measure again") for name in accused
    ]
    made = meetings("net1", suspects, (), healthy, NOWHERE)
    if isinstance(made.meetings, Skipped):
        assert set(healthy) <= set(accused)
        return
    few = len(set(healthy) - set(accused)) < FEWEST_NODES
    launch = launch_of(made)
    names = [case.name for case in launch.cases]
    assert len(names) == len(set(names))
    assert len(set(launch.nodes)) == len(launch.nodes)
    for case in launch.cases:
        assert case.origin != case.target
        assert max(case.origin, case.target) < len(launch.nodes)
        pair = {launch.nodes[case.origin], launch.nodes[case.target]}
        assert few or pair - set(accused)  # suspects meet good partners only, if there are any


def test_ranks_keep_the_order_of_the_first_launch() -> None:
    accused = (finding("node", "c7"), finding("node", "c2"))
    best_first = tuple(reversed(NODES))
    made = meetings("net1", accused, (), best_first, NOWHERE, order=NODES)
    free = meetings("net1", accused, (), best_first, NOWHERE)
    assert made.nodes == tuple(node for node in NODES if node in free.nodes)
    assert met(launch_of(made)) == met(launch_of(free))


def test_streams_alone_leave_out_pairs_that_were_never_measured() -> None:
    nodes = ("c1", "c2", "c3")
    values = np.full((3, 3), 1e8)
    values[1, 2] = values[2, 1] = np.nan
    matrix = PairMatrix(
        "net1", "bandwidth", 1 << 20, nodes, values, values.astype(np.float32), values[None]
    )
    made = streams_alone(matrix, [("c2", "c3"), ("c3", "c1"), ("c1", "c3"), ("c1", "c2")])
    assert made is not None
    assert met(launch_of(made)) == {frozenset(("c1", "c3")), frozenset(("c1", "c2"))}
    assert streams_alone(matrix, [("c2", "c3")]) is None
