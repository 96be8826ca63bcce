"""Launches of another suite's programs: path, hosts and directions, from what is around them."""

from typing import Any

import msgspec
import pytest
from tests.judge import planted
from tests.judge.test_imported import LIMIT, curve, outcomes

from fabricgauge.model.fabric import Fabric, Member, Network
from fabricgauge.model.measurement import InterfaceCounters, NodeCounters, Placement, ProcessorUse
from fabricgauge.model.plan import BACK, Plan, PlannedLaunch, Stopping
from fabricgauge.model.run import CountersAround, Ended, Launch, Run
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import Outcome

NODES = ("c1", "c2")
NETWORK = Network(
    "1GbE", "10.0.0.0/24", "ethernet", 1e9, "declared",
    tuple(Member(node, "eth0", f"10.0.0.{n}", 1500) for n, node in enumerate(NODES, 1)),
)  # fmt: skip
PAYLOAD = 500_000_000


def counted(sent: int) -> InterfaceCounters:
    return msgspec.structs.replace(planted.NO_TRAFFIC, tx_bytes=sent)


def around(
    share: float = 1.0, idle: float = 0.5, waited_s: float = 0.0, polls: bool = False
) -> CountersAround:
    """``share`` of the payload crossed eth0, the rest lo."""
    total = int(PAYLOAD * 1.05)
    before = {"eth0": counted(0), "lo": counted(0)}
    after = {"eth0": counted(int(total * share)), "lo": counted(int(total * (1 - share)))}
    return CountersAround(
        counters=tuple(NodeCounters(n, node, before, after) for n, node in enumerate(NODES)),
        payload_bytes=(PAYLOAD, PAYLOAD),
        processors=tuple(
            ProcessorUse(n, 0, 0, waited_s, idle, 0.02, 0.0, 0.02) for n in range(2)
        ),
        wall_s=10.0, polls=polls,
    )  # fmt: skip


def launch(
    number: int, said: SuiteCurve, program: str = "iperf3, one stream", **more: Any
) -> Launch:
    made = Launch(
        number=number, network="1GbE", nodes=NODES, header=None,
        placements=tuple(
            Placement(n, node, 1, f"boot-{node}", f"net:[{n}]", "0-1", 0, 0, "eth0")
            for n, node in enumerate(NODES)
        ),
        measurements=(), ended=Ended("ok", 0, "", ("iperf3",), 1.0), curves=(said,),
        around=around(), program=program,
    )  # fmt: skip
    return msgspec.structs.replace(made, **more)


def run(*launches: Launch) -> Run:
    planned = tuple(
        PlannedLaunch(one.number, "1GbE", NETWORK.subnet, NODES, (), one.program)
        for one in launches
    )
    fabric = Fabric(tuple(planted.node(n) for n in (1, 2)), (), (NETWORK,))
    return Run(
        "r", "", (), {}, fabric, Plan("quick", Stopping(0, 0), False, planned, "iperf3"),
        launches, True,
    )  # fmt: skip


def stream(fraction: float, **more: Any) -> SuiteCurve:
    return curve({None: fraction * LIMIT}, transport="tcp", **more)


def test_a_sound_stream_with_its_path_proved_passes() -> None:
    found = outcomes(run(launch(1, stream(0.98))))
    assert {found[rule] for rule in ("placement", "path", "fraction")} == {Outcome.PASS}
    assert found["completeness"] is Outcome.PASS


def test_bytes_that_crossed_another_interface_are_invalid() -> None:
    one = launch(1, stream(0.98), around=around(share=0.1))
    assert outcomes(run(one))["path"] is Outcome.INVALID


def test_a_slow_link_fails_where_the_hosts_had_time_left() -> None:
    found = outcomes(run(launch(1, stream(0.4))))
    assert found["fraction"] is Outcome.FAIL
    assert found["host-limited"] is Outcome.PASS


@pytest.mark.parametrize(
    "hosts", [{"idle": 0.01}, {"waited_s": 4.0}, {"waited_s": 4.0, "idle": 0.0, "polls": True}]
)
def test_a_low_figure_on_busy_hosts_decides_nothing(hosts: dict[str, Any]) -> None:
    found = outcomes(run(launch(1, stream(0.8), around=around(**hosts))))
    assert found["fraction"] is Outcome.INCONCLUSIVE
    assert found["host-limited"] is Outcome.INCONCLUSIVE


@pytest.mark.parametrize("hosts", [{"idle": 0.0}, {"waited_s": 9.9, "idle": 0.0}])
def test_busy_hosts_do_not_excuse_a_link_at_a_tenth_of_its_rate(hosts: dict[str, Any]) -> None:
    found = outcomes(run(launch(1, stream(0.1), around=around(**hosts))))
    assert found["fraction"] is Outcome.FAIL


def test_programs_that_poll_leave_nothing_idle_and_that_excuses_nothing() -> None:
    one = launch(1, stream(0.8), around=around(idle=0.0, polls=True))
    assert outcomes(run(one))["fraction"] is Outcome.FAIL


def test_a_program_that_broke_off_is_missing() -> None:
    lost = launch(2, stream(0.98), "iperf3, 4 streams", curves=())
    of = run(launch(1, stream(0.98)), lost)
    verdicts = {one.rule: one for one in planted.judge(of, {"1GbE": planted.ceiling()})}
    assert verdicts["completeness"].outcome is Outcome.INCONCLUSIVE
    assert "4 streams" in verdicts["completeness"].summary


def test_directions_are_held_against_each_other_as_they_were_measured() -> None:
    back = launch(2, stream(0.55, origin=1, target=0), f"iperf3, one stream{BACK}")
    many = launch(3, stream(0.99), "iperf3, 4 streams")
    verdicts = planted.judge(run(launch(1, stream(0.98)), back, many), {"1GbE": planted.ceiling()})
    told = [one for one in verdicts if one.rule == "asymmetry"]
    assert len(told) == 1
    assert "c2 → c1 is 43.9 % slower" in told[0].summary
