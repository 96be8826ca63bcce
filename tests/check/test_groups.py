"""Who is measured together where some cannot be, and how."""

from pathlib import Path

import msgspec
import pytest
from tests.judge import planted

from fabricgauge.check.groups import joint_ranks, launches_without_culprits
from fabricgauge.check.plan.plan import JointRanks, plan_groups
from fabricgauge.check.run_context import RunContext
from fabricgauge.check.target import Target
from fabricgauge.doctor.reachability import ConnectionFault
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Member, Network
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.run import Ended, Launch
from fabricgauge.store.run_directory import RunDirectory


def launches(count: int, *found: ConnectionFault) -> tuple[PlannedLaunch, ...]:
    nodes = tuple(f"c{number}" for number in range(1, count + 1))
    members = tuple(Member(one, "eth0", f"10.0.0.{one[1:]}", 1500) for one in nodes)
    network = Network("net1", "10.0.0.0/24", "ethernet", 1e9, "declared", members)
    groups = joint_ranks(nodes, ((network, Skipped("not asked for")),), {"net1": found})
    return plan_groups(MeasurementRequest(), nodes, groups).launches


def pair(one: str, other: str) -> ConnectionFault:
    return ConnectionFault("pair", (one, other))


@pytest.mark.parametrize(
    ("count", "found", "together"),
    [
        (4, (pair("c1", "c3"),), ["c2 c3 c4", "c1 c2"]),
        (4, (pair("c1", "c3"), pair("c2", "c4")), ["c3 c4", "c1 c4", "c2 c3"]),
        (3, (pair("c1", "c3"),), ["c2 c3", "c1 c2"]),
        (3, (ConnectionFault("node", ("c3",)),), ["c1 c2"]),
        (2, (pair("c1", "c2"),), []),
    ],
)
def test_all_that_can_be_measured_is_planned_with_partners_of_most(
    count: int, found: tuple[ConnectionFault, ...], together: list[str]
) -> None:
    assert [" ".join(one.nodes) for one in launches(count, *found)] == together


def test_two_that_are_left_of_three_are_measured_as_all_pairs_are() -> None:
    (left,) = launches(3, ConnectionFault("node", ("c3",)))
    (alone,) = launches(2)
    of_all = {"all_pairs_latency", "all_pairs_bandwidth"}
    assert {case.pattern for case in left.cases} == of_all
    assert not {case.pattern for case in alone.cases} & of_all


def test_the_time_for_which_a_launch_hung_is_not_taken_from_the_others_budget(
    tmp_path: Path,
) -> None:
    nodes = ("c1", "c2", "c3", "c4")
    members = tuple(Member(one, "eth0", f"10.0.0.1{one[1]}", 1500) for one in nodes)
    network = Network("net1", "10.0.0.0/24", "ethernet", 1e9, "declared", members)
    request = MeasurementRequest(budget=30.0)
    whole = plan_groups(request, nodes, (JointRanks(nodes, ((network, Skipped("unknown")),)),))
    hung = Launch(
        1, "net1", nodes, None, (), (), Ended("silent", None, "nothing came", (), wall_s=100.0)
    )
    fabric = msgspec.structs.replace(planted.fabric(), networks=(network,))
    run = msgspec.structs.replace(planted.run(), plan=whole, launches=(hung,), fabric=fabric)
    access = HostAccess("local", tuple(Host(node, ()) for node in nodes))
    context = RunContext(
        Target(access, request, DEFAULTS), RunDirectory.create(tmp_path), run,
        culprits={"net1": [ConnectionFault("node", ("c3",))]},
    )  # fmt: skip
    context.broken = {"net1"}
    (instead,) = launches_without_culprits(context)
    assert instead.nodes == ("c1", "c2", "c4")
    assert {"all_pairs_latency", "all_pairs_bandwidth"} <= {one.pattern for one in instead.cases}
